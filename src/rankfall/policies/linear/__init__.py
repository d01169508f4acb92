"""Linear policies: one ridge model over item features, of which some columns diminish."""
