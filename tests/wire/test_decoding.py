"""What is refused says where, why, and what is allowed."""

import json

import msgspec
import pytest

from rankfall.errors import InvalidError
from rankfall.wire import (
    BulkItem,
    FeedbackRequest,
    ItemBody,
    ModelChanges,
    ModelSettings,
    RankBatchRequest,
    RankRequest,
    convert,
    decode,
)


@pytest.mark.parametrize(
    ("kind", "body", "where", "said"),
    [
        (RankRequest, '{"k": 0}', "body.k", "expected `int` >= 1, got 0"),
        (RankRequest, '{"k": "3"}', "body.k", "expected `int | null`, got `str`"),
        (RankRequest, '{"k": NaN}', "body.k", "expected `int | null`, got `float`"),
        (RankRequest, '{"user": ""}', "body.user", 'expected `str` of length >= 1, got ""'),
        (RankRequest, '{"user": "a\\nb"}', "body.user", "only printable characters are allowed, got 'a\\nb'"),
        (RankRequest, '{"exclude": ["a", "b\\u0000"]}', "body.exclude.1", "only printable characters are allowed"),
        (RankRequest, '{"users": "anna"}', "body.users", "unknown field; the fields are user, segment, k, candidates"),
        (RankRequest, "[]", "body", "expected `object`, got `array`"),
        (RankBatchRequest, '{"requests": [{"model": "m"}, {}]}', "body.requests.1.model", "this field is required"),
        (RankBatchRequest, '{"requests": [{"model": "a b"}]}', "body.requests.0.model", "matching regex"),
        (FeedbackRequest, '{"event_id": "e", "clicked": [1, {}]}', "body.clicked.1", "give id or position, one of"),
        (FeedbackRequest, '{"event_id": "e", "clicked": ["\\t"]}', "body.clicked.0", "only printable characters"),
        (
            ModelSettings,
            '{"rules": [{"kind": "at_mst", "n": 2, "attribute": "brand"}]}',
            "body.rules.0.kind",
            'expected one of at_most, at_least, apart, only, got "at_mst"',
        ),
        (
            ModelSettings,
            '{"context": {"hour": {"kind": "our"}}}',
            "body.context.kind",
            "expected one of number, category, hour, weekday",
        ),
        (ModelSettings, '{"mode": "on"}', "body.mode", "expected one of apprentice, logging_only, online, got 'on'"),
        (ModelSettings, '{"forgetting": {"discount": 1}}', "body.forgetting.discount", "expected `float` < 1.0, got 1"),
        (ModelSettings, '{"forgetting": {}}', "body.forgetting", "give discount or window, one of them"),
        (ModelSettings, '{"forgetting": {"discount": 0.5, "window": 3}}', "body.forgetting", "one of them"),
        (ModelChanges, '{"gamma": null}', "body.gamma", "expected `float`, got `null`"),
        (ModelChanges, '{"scope": "user"}', "body.scope", "unknown field; the fields are policy, gamma, k, mode"),
        (ModelChanges, '{"pinned": [{"id": 1, "position": 2}, {"id": 1, "position": 3}]}', "body.pinned", "once"),
        (ItemBody, '{"coverage": {"comedy": 2}}', "body.coverage", "expected `float` <= 1.0"),
        (ItemBody, '{"relevance": [0.5, NaN]}', "body", "malformed"),
        (ItemBody, '{"title": "\\ud800"}', "body", "truncated"),
        (
            BulkItem,
            '{"id": 9223372036854775808}',
            "body.id",
            "expected `int` <= 9223372036854775807, got 9223372036854",
        ),
    ],
)
def test_what_does_not_fit(kind: type[msgspec.Struct], body: str, where: str, said: str) -> None:
    with pytest.raises(InvalidError) as caught:
        decode(kind, body.encode())
    assert (caught.value.status, caught.value.code, caught.value.where) == (422, "invalid", where)
    assert caught.value.message.startswith(f"{where}: ")
    assert said in caught.value.message


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{", b'\xff\xfe{}"', b"[" * 100_000, b'{"user": ' * 50_000])
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(InvalidError) as caught:
        decode(RankRequest, body)
    assert (caught.value.status, caught.value.code) in ((400, "bad_request"), (422, "invalid"))


def test_a_long_value_is_not_repeated() -> None:
    with pytest.raises(InvalidError) as caught:
        decode(RankRequest, json.dumps({"user": "u" * 5000}).encode())
    assert caught.value.message == "body.user: expected `str` of length <= 200"


def test_plain_values() -> None:
    settings = convert(ModelSettings, {"gamma": 2, "forgetting": {"window": 5}})
    assert settings.gamma == 2.0
    assert msgspec.to_builtins(settings)["forgetting"] == {"window": 5}
    assert convert(ModelSettings, msgspec.to_builtins(settings)) == settings
    with pytest.raises(InvalidError, match=r"^gamma: expected `float` >= 0.0, got -1$"):
        convert(ModelSettings, {"gamma": -1})
