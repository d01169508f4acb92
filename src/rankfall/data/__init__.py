"""Where catalogs and users come from: made up, or rated by people."""

from rankfall.data.generated import Generated, generate, on_sphere
from rankfall.data.library import KNOWN, Known, find, home, known
from rankfall.data.ratings import Counts, Ratings
from rankfall.data.tables import tables

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
