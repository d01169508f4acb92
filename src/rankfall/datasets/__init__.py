"""Where catalogs and users come from."""

from rankfall.datasets.generated import Generated, generate

__all__ = ["Generated", "generate"]
