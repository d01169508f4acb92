"""What the journal says, folded: all of it survives a checkpoint, and what cannot be read changes nothing."""

import msgspec
import pytest

from rankfall import Catalog
from rankfall.errors import JournalError
from rankfall.journal.catalogs import encode_catalog
from rankfall.journal.entries import (
    CatalogChanged,
    Encoded,
    FeedbackExpired,
    FeedbackGiven,
    ModelCreated,
    ModelReset,
    ModelRestored,
    Record,
    SettingsChanged,
    UserForgotten,
    encode,
)
from rankfall.journal.fold import Epoch, Knowledge
from rankfall.journal.records import Entry

ITEMS = Catalog(relevance=[[1.0], [2.0]], ids=["a", "b"])
RECORDS: list[Record] = [
    CatalogChanged(replace=True, items=encode_catalog(ITEMS)),
    ModelCreated(policy="CascadeLinUCB", k=2),
    FeedbackGiven((1,)),
    SettingsChanged(gamma=0.5),
    ModelReset(),
    FeedbackExpired(),
    ModelRestored(3, "s-1"),
    CatalogChanged(delete=("a",)),
    UserForgotten("salt", "digest"),
]


def entry_of(seq: int, record: Record | Encoded) -> Entry:
    kind, version, body, blob = record if isinstance(record, Encoded) else encode(record)
    model = "" if kind in ("catalog", "forget") else "m"
    event = f"e{seq}" if kind in ("feedback", "expired") else None
    return Entry(seq, kind, version, model, "", 60.0 * seq, event, body, blob, "policy", True, 3, None)


def folded(records: list[Record]) -> Knowledge:
    known = Knowledge()
    for seq, record in enumerate(records, 1):
        assert known.apply(entry_of(seq, record)) == record
    return known


def plain(known: Knowledge) -> object:
    models = {
        name: (model.settings, model.created, model.epochs, msgspec.json.decode(msgspec.json.encode(counts.plain())))
        for name, model in known.models.items()
        for counts in [model.counts]
    }
    return known.position, known.catalog.version, known.catalog.current(), models


def test_what_each_entry_means() -> None:
    known = folded(RECORDS)
    model = known.models["m"]
    assert (known.position, known.catalog.version, known.catalog.current().ids) == (9, 8, ("b",))
    assert (model.settings.policy, model.settings.gamma, model.settings.k) == ("CascadeLinUCB", 0.5, 2)
    epochs = [Epoch(2), Epoch(5), Epoch(7, 3)]
    assert model.epochs == epochs
    assert [model.epoch_at(seq) for seq in (2, 4, 6, 9)] == [epochs[0], epochs[0], epochs[1], epochs[2]]
    assert model.counts.counts == {"policy": [2, 1, 1]}


@pytest.mark.parametrize("upto", [2, 5, len(RECORDS)])
def test_a_checkpoint_has_all_of_it(upto: int) -> None:
    known = folded(RECORDS[:upto])
    again = Knowledge.unpack(known.pack(), known.position)
    assert again is not None
    assert plain(again) == plain(known)
    for seq, record in enumerate(RECORDS[upto:], upto + 1):
        again.apply(entry_of(seq, record))
    assert plain(again) == plain(folded(RECORDS))


@pytest.mark.parametrize(
    "entry",
    [
        Encoded("settings", 2, "{}", None),
        Encoded("settings", 1, '{"mode": "dreaming"}', None),
        Encoded("x", 1, "", None),
    ],
)
def test_what_cannot_be_read_changes_nothing(entry: Encoded) -> None:
    known = folded(RECORDS)
    before = plain(known)
    with pytest.raises(JournalError):
        known.apply(entry_of(10, entry))
    assert plain(known) == before


def test_a_checkpoint_that_cannot_be_read() -> None:
    assert Knowledge.unpack(b"", 1) is None
    assert Knowledge.unpack(folded(RECORDS).pack()[:-1], 9) is None
