"""Tabular policies: each item has an attraction of its own, and needs no features.

With the papers' symbols: ``L`` items, lists of ``K``, steps ``t = 1, 2, ...``; ``T(e)`` is how often item e was
observed, ``w(e)`` the share of those times it was clicked, ``U(e)`` the bound or sample the list is ordered by.

What the papers leave open, and what we do:

- **Initialisation.** The papers take one observation of every item for granted before step 1, and do not count its
  cost. Here an item that was never observed has an infinite bound, so it stands above all that were, in the order of
  rows. Lists of K then observe every item once within L steps at most (within L / K when nobody clicks), and the
  regret of these steps counts.
- **Ties** go to the lower row.
- **Time.** ``t`` is one more than the number of lists learned from. Feedback that comes late is learned from as if it
  had come on time; feedback that never comes changes nothing.
"""
