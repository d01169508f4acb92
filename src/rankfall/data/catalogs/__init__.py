"""Building a catalog from what people have: a table of items, and a click log if there is one."""

from rankfall.data.catalogs.build import Built, build_catalog

__all__ = ["Built", "build_catalog"]
