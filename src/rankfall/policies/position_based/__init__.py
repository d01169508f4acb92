"""Policies for position-based clicks: a position is examined with a probability of its own, whatever else is clicked.

With the papers' symbols: L items, K positions (in Lagrée et al. the other way round), steps ``t = 1, 2, ...``; an item
i at position l is clicked with probability ``theta_i kappa_l``, independently of all others. ``N_il`` is how often item
i was shown at position l, ``S_il`` how often it was clicked there. Every position counts, clicked or not.

What the papers leave open, and what we do: an item never shown is shown before all others; ties go to the lower row; t
is one more than the number of lists learned from; feedback that comes late counts when it comes. Lists may be longer
than K: what stands below is chosen alike, and teaches nothing.
"""
