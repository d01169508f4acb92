"""Which of several rankers is best, from live clicks, with few comparisons.

A user sees one list, made of the lists of two rankers (or more); the clicks say which of them is preferred. Who is
compared next follows from what was seen, so that poor rankers are soon shown to nobody. docs/compare.md shows how.

::

    comparison     names, next(...) -> list, feedback(list, clicks), standing(); saved and loaded
    interleaving   one list of several: TeamDraft, Probabilistic; which clicks speak for whom
    methods        who is compared next: MergeDTS, DoubleThompson, SelfSparring, UniformPairs, Together
    duels          how often each ranker was preferred to each other one, and which are out
"""

from rankfall.compare.comparison import Comparison
from rankfall.compare.double_thompson import DoubleThompson
from rankfall.compare.duels import Duels, Method, Together, UniformPairs
from rankfall.compare.interleaving import Interleaved, Interleaving, Probabilistic, TeamDraft
from rankfall.compare.merge_dts import MergeDTS
from rankfall.compare.self_sparring import SelfSparring
from rankfall.compare.standing import Pair, Standing

__all__ = [
    "Comparison",
    "DoubleThompson",
    "Duels",
    "Interleaved",
    "Interleaving",
    "MergeDTS",
    "Method",
    "Pair",
    "Probabilistic",
    "SelfSparring",
    "Standing",
    "TeamDraft",
    "Together",
    "UniformPairs",
]
