"""Rules as values and as JSON and TOML."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import pytest

from rankfall import Apart, AtLeast, AtMost, Only, RankError
from rankfall.errors import InvalidError, RankfallError
from rankfall.wire.rules import Rule, rule_from_json, rule_to_json

RULES = [
    (AtMost(n=2, attribute="brand"), "at most 2 of each brand"),
    (AtMost(n=0, attribute="brand", value="Lego", first=3), 'at most 0 with brand = "Lego" among the first 3'),
    (AtLeast(n=1, attribute="own", value=True), "at least 1 with own = true"),
    (
        AtLeast(n=2, attribute="published_at", op="newer_than", value="7d", first=10),
        'at least 2 with published_at newer_than "7d" among the first 10',
    ),
    (Apart(attribute="brand", within=3), "no two of one brand within 3 positions"),
    (Only(attribute="price", op="<=", value=20.5), "only price <= 20.5"),
    (Only(attribute="at", op=">", value="2026-11-18"), 'only at > "2026-11-18"'),
    (Only(attribute="brand", op="in", value=("Lego", "Duplo")), 'only brand in ["Lego","Duplo"]'),
]


@pytest.mark.parametrize(("rule", "words"), RULES)
def test_a_rule_is_a_value_with_words_and_json(rule: Rule, words: str) -> None:
    assert str(rule) == words
    plain = rule_to_json(rule)
    assert rule_from_json(plain) == rule
    assert msgspec.json.decode(msgspec.json.encode(rule), type=Rule) == rule
    assert len({rule, rule_from_json(plain)}) == 1


def test_a_rule_can_be_written_in_toml() -> None:
    written = '[[rules]]\nkind = "at_most"\nn = 2\nattribute = "brand"\nfirst = 10\n'
    assert [rule_from_json(one) for one in tomllib.loads(written)["rules"]] == [
        AtMost(n=2, attribute="brand", first=10)
    ]


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (AtMost, {"n": 0}, "n must be a whole number from 1 on, where each value counts for itself; got 0"),
        (AtMost, {"n": -1, "value": "a"}, "n must be a whole number from 0 on; got -1"),
        (AtMost, {"n": 1.5}, "got 1.5"),
        (AtMost, {"n": True}, "got True"),
        (AtMost, {"n": 1, "first": 0}, "first must be a whole number from 1 to 1000"),
        (AtMost, {"n": 1, "op": "<"}, "value must be a value after <; got None"),
        (AtLeast, {"n": 1}, "value must be text, a finite number, true or false; got None"),
        (AtLeast, {"n": 3, "value": 1, "first": 2}, "n must be a whole number from 1 to the first 2 positions; got 3"),
        (AtLeast, {"n": 0, "value": 1}, "n must be a whole number from 1 on; got 0"),
        (Apart, {"within": 1}, "within must be a whole number from 2 to 1000; got 1"),
        (Only, {"value": float("nan")}, "value must be text, a finite number, true or false; got nan"),
        (Only, {"op": "<", "value": "cheap"}, "a finite number, or a date or moment in ISO 8601, after <; got 'cheap'"),
        (Only, {"op": "<", "value": True}, "got True"),
        (Only, {"op": ">=", "value": float("inf")}, "got inf"),
        (Only, {"op": "in", "value": "a"}, "a list of 1 to 1000 texts"),
        (Only, {"op": "in", "value": []}, "a list of 1 to 1000 texts"),
        (Only, {"op": "newer_than", "value": "soon"}, 'value must be a duration such as "36h" or "7d"; got \'soon\''),
        (Only, {"op": "newer_than", "value": 7}, "got 7"),
        (Only, {"op": "~", "value": 7}, "op must be one of =, !=, in, <, <=, >, >=, newer_than; got '~'"),
        (Only, {"attribute": "", "value": 7}, "attribute must be a name; got ''"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(kind: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(RankError) as caught:
        kind(**{"attribute": "brand", **given})
    assert message in str(caught.value)
    assert isinstance(caught.value, RankfallError)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"kind": "at_mots", "n": 1, "attribute": "a"}, "rule.kind: "),
        ({"n": 1, "attribute": "a"}, "rule.kind: this field is required"),
        ({"kind": "at_most", "attribute": "a"}, "rule.n: this field is required"),
        ({"kind": "at_most", "n": "2", "attribute": "a"}, "rule.n: expected `int`, got `str`"),
        ({"kind": "at_most", "n": 2, "attribute": "a", "amnog": 3}, "rule.amnog: unknown field"),
        ({"kind": "at_least", "n": 3, "attribute": "a", "value": 1, "first": 2}, "rule.n: n must be"),
    ],
)
def test_json_that_is_no_rule_is_refused_with_its_place(plain: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        rule_from_json(plain)
    assert message in str(caught.value)
