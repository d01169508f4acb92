"""Policies that eliminate: they keep items they cannot tell apart together, and split or exchange them by clicks."""
