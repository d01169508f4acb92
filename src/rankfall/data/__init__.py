"""Where catalogs and users come from: generated, or from people's ratings."""

from rankfall.data.data_folder import data_folder
from rankfall.data.datasets import DATASETS, DataSet, dataset_called
from rankfall.data.finding import find
from rankfall.data.generated import Generated, generate, on_sphere
from rankfall.data.look_alike import look_alike
from rankfall.data.own_tables import tables
from rankfall.data.ratings import Counts, Ratings

__all__ = [
    "DATASETS",
    "Counts",
    "DataSet",
    "Generated",
    "Ratings",
    "data_folder",
    "dataset_called",
    "find",
    "generate",
    "look_alike",
    "on_sphere",
    "tables",
]
