"""Every error Rankfall raises on purpose.

::

    RankfallError
    ├── CatalogError    items that do not form a catalog, or a change it cannot take
    ├── RankError       a list that cannot be made as asked
    ├── FeedbackError   a click that does not fit the ranking it came with
    ├── ProblemError    a simulated user, an experiment or a setting that makes no sense
    ├── FileError       a file that is missing, damaged or not ours
    ├── StoreError      a database that cannot be reached, read or written
    ├── JournalError    an entry of the journal that this version cannot read: a newer one wrote it
    │   └── MissingPolicyError  or it names a policy of someone's own that this process was not given
    ├── ContractError   a policy or environment that breaks its contract (see ``check_policy``)
    └── ServiceError    a call to the Rankfall service that did not work; itself: a response that makes no sense
        ├── UnavailableError   no response, or "not now", and no attempts or no time left
        ├── RefusedError       the key is missing, wrong, or lacks the right (401, 403)
        ├── NotFoundError      no such model, item, event or snapshot (404)
        ├── ConflictError      it contradicts what the service has (409)
        └── InvalidError       a request the service, or already the client, cannot take (400, 413, 415, 422)

Each message names the value that was given and what was expected instead.
"""


class RankfallError(Exception):
    """The root: catch this one to catch them all."""


class CatalogError(RankfallError):
    """Items that do not form a catalog, or a change the catalog cannot take."""


class RankError(RankfallError):
    """A list that cannot be made as asked."""


class FeedbackError(RankfallError):
    """Feedback that does not fit the ranking it came with."""


class ProblemError(RankfallError):
    """A simulated user, an experiment or a setting that makes no sense."""


class FileError(RankfallError):
    """A file that is missing, damaged, or not ours."""


class StoreError(RankfallError):
    """A database that cannot be reached, read or written."""


class ConnectionLostError(StoreError):
    """A connection to a database that has ended: the server was restarted, or the network failed."""


class OldStoreError(StoreError):
    """A store whose tables an older version made, opened where they cannot be brought up to date."""


class LostEntryError(StoreError):
    """An entry that was in the journal is not there any more: the store went back in time, as after a failover."""


class JournalError(RankfallError):
    """An entry of the journal that this version cannot read: a newer one wrote it."""


class MissingPolicyError(JournalError):
    """An entry of the journal that names a policy of someone's own, which this process was not given."""


class ContractError(RankfallError):
    """A policy or an environment that breaks its contract; the message lists how."""


class ServiceError(RankfallError):
    """A call to the Rankfall service that did not work.

    Parameters
    ----------
    message
        What went wrong, in the words of the service if it said something.
    code
        One word for programs: that of the service (``not_found``, ``conflict``, ...), or ``bad_response``.
    status
        HTTP status of the response; None if there was none.
    where
        Which part of the request is wrong, such as ``body.k``; None if that is not known.

    >>> error = NotFoundError("no model 'x'; there is: default", code="not_found", status=404)
    >>> error.code, error.status, str(error)
    ('not_found', 404, "no model 'x'; there is: default")
    """

    usual: tuple[str, int | None] = ("bad_response", None)

    def __init__(
        self, message: str, *, code: str | None = None, status: int | None = None, where: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.usual[0]
        self.status = status or self.usual[1]
        self.where = where


class UnavailableError(ServiceError):
    """No response, or "not now", and no attempts or no time left."""

    usual = ("unavailable", None)


class RefusedError(ServiceError):
    """The API key is missing, wrong, or lacks the right to do this."""

    usual = ("forbidden", 403)


class NotFoundError(ServiceError):
    """No such model, item, event or snapshot."""

    usual = ("not_found", 404)


class ConflictError(ServiceError):
    """A change that contradicts what the service has."""

    usual = ("conflict", 409)


class InvalidError(ServiceError):
    """A request that the service, or already the client, cannot take."""

    usual = ("invalid", 422)


QUOTED = 100
"""Characters of a value that a message quotes at most."""


def short(value: object) -> str:
    """A value as messages quote it: its beginning only, if it is long.

    >>> short("abc"), short(7)
    ("'abc'", '7')
    >>> len(short("x" * 1_000_000))
    103
    """
    text = repr(value[:QUOTED] if isinstance(value, str) else value)
    long = len(text) > QUOTED or (isinstance(value, str) and len(value) > QUOTED)
    return f"{text[:QUOTED]}..." if long else text
