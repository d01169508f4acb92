"""What a data set says of items and users: the preprocessing of section 4.1."""

from rankfall.data.preparation.prepared import Prepared, Settings, prepare

__all__ = ["Prepared", "Settings", "prepare"]
