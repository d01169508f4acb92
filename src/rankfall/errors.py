"""Every error Rankfall raises on purpose.

::

    RankfallError
    ├── CatalogError    items that do not form a catalog, or a change it cannot take
    ├── RankError       a list that cannot be made as asked
    ├── FeedbackError   a click that does not answer the ranking it came with
    ├── ProblemError    a simulated user, an experiment or a setting that makes no sense
    ├── FileError       a file that is missing, damaged or not ours
    ├── StoreError      a database that cannot be reached, read or written
    └── ContractError   a policy or environment that breaks its contract (see ``check_policy``)

Each message names the value that was given and what was expected instead.
"""


class RankfallError(Exception):
    """The root: catch this one to catch them all."""


class CatalogError(RankfallError):
    """Items that do not form a catalog, or a change the catalog cannot take."""


class RankError(RankfallError):
    """A list that cannot be made as asked."""


class FeedbackError(RankfallError):
    """Feedback that does not answer the ranking it came with."""


class ProblemError(RankfallError):
    """A simulated user, an experiment or a setting that makes no sense."""


class FileError(RankfallError):
    """A file that is missing, damaged, or not ours."""


class StoreError(RankfallError):
    """A database that cannot be reached, read or written."""


class ContractError(RankfallError):
    """A policy or an environment that breaks its contract; the message lists how."""
