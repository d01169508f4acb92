"""Where the service keeps what it must not lose: SQLite by default, PostgreSQL for many servers."""

from pathlib import Path

from rankfall.errors import FileError, StoreError
from rankfall.files import make_folder
from rankfall.journal.records import BEGINNING, END, START, Arm, Checkpoint, Entry, Event, Mark, Position, Snapshot
from rankfall.stores.sqlite import sqlite_at
from rankfall.stores.store import Store
from rankfall.stores.transaction import OnEvent, OnOutcome, StoredFeedback, Transaction

__all__ = [
    "BEGINNING",
    "END",
    "START",
    "Arm",
    "Checkpoint",
    "Entry",
    "Event",
    "Mark",
    "OnEvent",
    "OnOutcome",
    "Position",
    "Snapshot",
    "Store",
    "StoredFeedback",
    "Transaction",
    "open_store",
    "without_secrets",
]

FILE = "rankfall.sqlite"


def without_secrets(place: str) -> str:
    """An address as it may be shown: without user, password and options; a folder as it is.

    >>> without_secrets("postgresql://me:word@db:5432/shop?password=word")
    'postgresql://db:5432/shop'
    """
    scheme, mark, rest = place.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2].partition('?')[0]}" if mark else place


def open_store(place: str | Path, *, make: bool = True, read_only: bool = False) -> Store:
    """The store at an address ``postgresql://...`` or in a folder; ``make=False`` refuses a folder that has none.

    With ``read_only`` nothing is made or written, and the right to read is enough.

    >>> open_store("mysql://somewhere")
    Traceback (most recent call last):
    rankfall.errors.StoreError: no store at mysql://somewhere: give a folder, or an address postgresql://...
    """
    text = str(place)
    if text.startswith(("postgresql://", "postgres://")):
        try:
            from rankfall.stores.postgres import postgres_at
        except ImportError as problem:
            raise StoreError(
                f"PostgreSQL needs the extra: pip install 'rankfall[postgres]' (missing: {problem.name})"
            ) from None
        return Store(postgres_at(text, read_only=read_only), make=make, read_only=read_only)
    if "://" in text:
        raise StoreError(f"no store at {without_secrets(text)}: give a folder, or an address postgresql://...")
    folder = Path(place)
    if (read_only or not make) and not (folder / FILE).is_file():
        raise FileError(f"{folder} holds no store ({FILE} is not there)")
    if read_only:
        return Store(sqlite_at(folder / FILE, read_only=True), read_only=True)
    make_folder(folder)
    return Store(sqlite_at(folder / FILE))
