"""Rankfall shows ranked lists that are relevant and diverse, and learns both from clicks.

The public names stand in ``__init__.pyi``. Each is imported when it is first used: ``import rankfall`` is instant and
compiles nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
