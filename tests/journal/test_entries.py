"""Records of the journal: each comes back as it was, and what a newer version wrote is never misread."""

import msgspec
import pytest

from rankfall.errors import JournalError
from rankfall.journal.entries import (
    KINDS,
    CatalogChanged,
    Encoded,
    FeedbackExpired,
    FeedbackForgotten,
    FeedbackGiven,
    Forgetting,
    ItemPatched,
    ModelCreated,
    ModelReset,
    ModelRestored,
    OutcomeGiven,
    Pinned,
    PriorLearned,
    Record,
    SettingsChanged,
    StoredSettings,
    UserForgotten,
    decode,
    encode,
)
from rankfall.journal.fold import settings_of
from rankfall.wire import ModelSettings

RECORDS: list[Record] = [
    FeedbackGiven((0, 3)),
    FeedbackGiven(()),
    FeedbackExpired(),
    OutcomeGiven(1, "purchase"),
    OutcomeGiven(0, "dislike", -0.1),
    FeedbackForgotten("policy", clicked=True, covered=2),
    FeedbackForgotten("control", outcome=True, reward=1 / 3, squares=1 / 9),
    CatalogChanged(items=b"items", delete=("a", "b"), replace=True),
    CatalogChanged(patch=ItemPatched(7, title="A", coverage={"x": 0.1}, relevance=(0.3,)), delete=(1,)),
    ModelCreated(policy="CascadeHybrid", gamma=1 / 3, forgetting=Forgetting(window=3), feedback=None),
    ModelCreated(rewards={"click": 0.5, "purchase": 1 / 3}),
    ModelCreated(scope="user", across_users=True),
    SettingsChanged(pinned=(Pinned("a", 1),), blocked=("b", "c")),
    ModelReset(),
    ModelRestored(17, "s-1"),
    PriorLearned(b"\x00prior", users=12, lists=40),
    UserForgotten("salt", "digest"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_come_back_as_they_were(record: Record) -> None:
    assert decode(*encode(record)) == record


def test_every_kind_is_among_these_records() -> None:
    assert {type(record) for record in RECORDS} == {kind.record for kind in KINDS.values()}


@pytest.mark.parametrize(
    ("row", "record"),
    [
        (("feedback", '{"clicked": [2]}'), FeedbackGiven((2,))),
        (("expired", "{}"), FeedbackExpired()),
        (("catalog", '{"replace": true}', b"items"), CatalogChanged(replace=True, items=b"items")),
        (("catalog", '{"delete": ["a"]}'), CatalogChanged(delete=("a",))),
        (("catalog", '{"id": 3, "patch": {"title": "T"}}'), CatalogChanged(patch=ItemPatched(3, "T"))),
        (
            ("create", '{"policy":"CascadeHybrid","gamma":1.0,"forgetting":{"discount":0.9},"feedback":null}'),
            ModelCreated(policy="CascadeHybrid", gamma=1.0, forgetting=Forgetting(discount=0.9), feedback=None),
        ),
        (("settings", '{"gamma": 2}'), SettingsChanged(gamma=2.0)),
        (("reset", "{}"), ModelReset()),
        (("restore", '{"source": [0, 4], "snapshot": "s-2"}'), ModelRestored(4, "s-2")),
        (("forget", '{"salt": "s", "digest": "d"}'), UserForgotten("s", "d")),
    ],
)
def test_rows_of_0_1_0_are_read(row: tuple[str, str] | tuple[str, str, bytes], record: Record) -> None:
    kind, body, *blob = row
    assert decode(kind, 1, body, blob[0] if blob else None) == record  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_newer_is_refused(kind: str) -> None:
    record = next(record for record in RECORDS if isinstance(record, KINDS[kind].record))
    entry = encode(record)
    with pytest.raises(JournalError, match=f"version {entry.version + 1}; this version reads up to {entry.version}"):
        decode(kind, entry.version + 1, entry.body)
    more = msgspec.json.encode({**msgspec.json.decode(entry.body), "tomorrow": 1}).decode()
    with pytest.raises(JournalError, match="unknown field `tomorrow`"):
        decode(kind, entry.version, more)
    with pytest.raises(JournalError, match=r"kind 'tomorrow' is not known; this version knows feedback, expired"):
        decode("tomorrow", 1, "{}")
    with pytest.raises(JournalError, match="cannot be read"):
        decode(kind, entry.version, "[]")


def test_settings_on_the_wire_can_all_be_stored() -> None:
    """The two are apart on purpose: the wire may change, the journal stays. Who adds to one must think of the other."""
    assert StoredSettings.__struct_fields__ == ModelSettings.__struct_fields__
    settings = ModelSettings(gamma=0.3, blocked=["a"], scope="user")
    stored = msgspec.convert(msgspec.to_builtins(settings), ModelCreated)
    entry: Encoded = encode(stored)
    record = decode(*entry)
    assert isinstance(record, ModelCreated)
    assert settings_of(record) == settings
    assert settings_of(SettingsChanged(gamma=2.0), settings) == msgspec.structs.replace(settings, gamma=2.0)


def test_what_is_not_used_does_not_stop_older_versions() -> None:
    """They read entries that have no field which they do not know: those of models without rewards."""
    made = msgspec.convert(msgspec.to_builtins(ModelSettings()), ModelCreated)
    assert "rewards" not in msgspec.json.decode(encode(made).body)
    assert set(msgspec.json.decode(encode(FeedbackForgotten("policy", clicked=True)).body)) == {"arm", "clicked"}
    settings = ModelSettings(rewards={"click": 1.0, "cart": 0.25})
    made = msgspec.convert(msgspec.to_builtins(settings), ModelCreated)
    assert settings_of(made) == settings
    assert settings_of(SettingsChanged(gamma=2.0), settings).rewards == settings.rewards
