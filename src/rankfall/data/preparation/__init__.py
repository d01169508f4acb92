"""From ratings to features of items and preferences of users: the preparation of section 4.1."""

from rankfall.data.preparation.from_ratings import prepare
from rankfall.data.preparation.prepared import Prepared
from rankfall.data.preparation.settings import PreparationSettings

__all__ = ["PreparationSettings", "Prepared", "prepare"]
