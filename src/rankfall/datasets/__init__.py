"""Where catalogs and users come from: made up, or rated by people."""

from rankfall.datasets.generated import Generated, generate, on_sphere
from rankfall.datasets.library import KNOWN, Known, find, home, known
from rankfall.datasets.ratings import Counts, Ratings
from rankfall.datasets.tables import tables

__all__ = [
    "KNOWN",
    "Counts",
    "Generated",
    "Known",
    "Ratings",
    "find",
    "generate",
    "home",
    "known",
    "on_sphere",
    "tables",
]
