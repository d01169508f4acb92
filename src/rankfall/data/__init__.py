"""Where catalogs and users come from: generated, from people's ratings, or from your own items and clicks."""

from rankfall.data.catalogs import Built, build_catalog
from rankfall.data.data_folder import data_folder
from rankfall.data.datasets import DATASETS, DataSet, dataset_called
from rankfall.data.finding import find
from rankfall.data.generated import Generated, generate, on_sphere
from rankfall.data.look_alike import look_alike
from rankfall.data.own_tables import tables
from rankfall.data.ratings import Counts, Ratings

__all__ = [
    "DATASETS",
    "Built",
    "Counts",
    "DataSet",
    "Generated",
    "Ratings",
    "build_catalog",
    "data_folder",
    "dataset_called",
    "find",
    "generate",
    "look_alike",
    "on_sphere",
    "tables",
]
