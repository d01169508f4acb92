"""Hold a site to everything it acknowledged. All servers are up and nobody calls while this looks."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
from callers import Shown, weights
from psycopg import sql
from served import Served
from waiting import PATIENCE, wait_until

from rankfall.service.prior_refresh import FIRST_LISTS, FIRST_USERS
from rankfall.stores import open_store
from soaking.fold import Export
from soaking.load import MARK, SoakCallers
from soaking.replay import Replayed
from soaking.site import MODELS, Site
from soaking.situations import FACTORS, check_rules

States = dict[str, dict[str, Any]]
"""Models by name, and by name and user."""
USERS = 5
"""Of a model with a state for each user, so many states are compared."""
SETTLED_AFTER = 300.0
"""Seconds after which servers that still say different things never will say the same."""
ASKED = 6
"""How often a server is asked, each time on a new connection, so that each worker gets its turn."""


def check(site: Site, callers: SoakCallers, folder: Path) -> dict[str, int]:
    """Compare what callers remember, what the servers say, and what the store holds; what was compared."""
    site.wait_ready()
    with httpx.Client(base_url=site.urls[0], timeout=PATIENCE, trust_env=False) as client:
        for name in callers.expected.raced:
            callers.forget(name, [client])
    callers.expected.raced.clear()
    check_names(site)
    check_expected(site, callers)
    wait_for_prior(site, callers)
    found = settled(site, folder)
    check_lists(found.export, callers)
    check_outcomes(found.export, callers)
    ruled = check_ruled(found.export, callers)
    found.replayed.check(found.states)
    check_states(found)
    return {
        "lists": len(found.export.lists),
        "under rules": ruled,
        "outcomes": len(found.export.outcomes),
        "priors": len(found.export.decisions.filter(kind="prior")),
        "states": len(found.replayed.policies),
    }


@dataclass
class Settled:
    """What a site has learned, three ways: as all servers say, as an export says, and as the journal says."""

    states: States
    export: Export
    replayed: Replayed


def settled(site: Site, folder: Path) -> Settled:
    """What all servers agree on, to the bit, and an export and a replay made while that did not change."""
    differ: list[str] = []

    def same() -> Settled | None:
        before = states_of(site, differ)
        if differ:
            return None
        shutil.rmtree(folder, ignore_errors=True)
        site.export(folder)
        found = Settled(before, Export(folder), Replayed(site.place))
        return found if states_of(site, differ) == before else None

    try:
        return wait_until(same, SETTLED_AFTER)
    except AssertionError:
        raise AssertionError(f"servers do not come to say the same: {differ[:3]}") from None


def states_of(site: Site, differ: list[str]) -> States:
    """The models as the servers have them; ``differ`` gets what their workers do not agree on."""
    wanted = [(name, {}) for name in MODELS] + [("own", {"user": f"user {n}"}) for n in range(USERS)]
    found: States = {}
    differ.clear()
    for url in site.urls:
        for _ in range(ASKED if len(site.servers) > 1 else 1):
            with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
                for name, query in wanted:
                    answer = client.get(f"/v1/models/{name}", params=query)
                    model = answer.json()
                    if model.get("prior"):
                        del model["prior"]["age_seconds"]  # which is another one at the next look
                    first = found.setdefault(" ".join([name, *query.values()]), model)
                    if first != model or answer.status_code != 200:
                        differ.append(f"{name} {query}: {_difference(first, model)}")
    return found


def wait_for_prior(site: Site, callers: SoakCallers) -> None:
    """Wait until users have a prior to start from, once they have shown more than enough.

    A server that found too few users tries again when lists have grown by a quarter, and nobody calls meanwhile.
    """
    removed = callers.expected.removed
    said = [one for one in callers.shown if one.model == "own" and one.said and one.event_id not in removed]
    if len(said) >= 2 * FIRST_LISTS and len({one.request["user"] for one in said}) >= FIRST_USERS:
        for served in site.servers:
            wait_until(lambda served=served: served.model("own")["prior"] is not None)  # type: ignore[misc]


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    return ", ".join(f"{key} {one.get(key)} and {other[key]}" for key in other if other[key] != one.get(key))


def check_names(site: Site) -> None:
    """Names of users who were forgotten stand in no table, and, of SQLite, in no file."""
    found = {table: count for table, count in _tables_with(site, MARK) if count}
    assert not found, f"names of forgotten users are in {found}"
    if site.cluster is None:
        with closing(open_store(site.place, make=False)) as store:
            store.compact()
            wait_until(lambda: not store.to_scrub or store.scrub())
        files = [path.name for path in Path(site.place).iterdir() if MARK.encode() in path.read_bytes()]
        assert not files, f"names of forgotten users are in the bytes of {files}"
    logs = [served.log.name for served in site.servers if MARK.encode() in served.log.read_bytes()]
    assert not logs, f"names of forgotten users are in {logs}"


def _tables_with(site: Site, text: str) -> Iterator[tuple[str, int]]:
    """How many rows of each table hold a text, in whatever column."""
    if site.cluster is None:
        (path,) = Path(site.place).glob("*.sqlite")
        with closing(sqlite3.connect(path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                rows = connection.execute(f'SELECT * FROM "{table}"')
                yield table, sum(any(_has(value, text) for value in row) for row in rows)
        return
    with psycopg.connect(site.place) as database:
        rows = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in rows:
            query = sql.SQL("SELECT count(*) FROM {} t WHERE position(%s in t::text) + position(%s in t::text) > 0")
            row = database.execute(query.format(sql.Identifier(table)), (text, text.encode().hex())).fetchone()
            yield table, row[0] if row else 0


def _has(value: object, text: str) -> bool:
    return text in value if isinstance(value, str) else isinstance(value, bytes) and text.encode() in value


def check_expected(site: Site, callers: SoakCallers) -> None:
    """Settings and items are those acknowledged last, on every server."""
    expected = callers.expected
    for served in site.servers:
        wait_until(lambda served=served: served.model("changing")["settings"]["gamma"] == expected.gamma)  # type: ignore[misc]
        topics = wait_until(lambda served=served: _with_topics(served, expected.topics))  # type: ignore[misc]
        assert topics[-len(expected.topics) or len(topics) :] == expected.topics, topics
        for item, told in expected.items.items():
            wait_for_item(served, item, told)


def _with_topics(served: Served, expected: list[str]) -> list[str] | None:
    """The topics of a server, once it has these."""
    topics: list[str] = served.get("/v1/catalog")["topics"]
    return topics if set(expected) <= set(topics) else None


def wait_for_item(served: Served, item: int, expected: dict[str, Any] | None) -> None:
    """Wait until a server has an item as it should be, or not at all; who did not change it may be a moment behind."""
    found = None

    def right() -> bool:
        nonlocal found
        answer = served.client.get(f"/v1/catalog/items/{item}")
        found = None if answer.status_code == 404 else {name: answer.json().get(name) for name in expected or {"id"}}
        return bool(found == expected)

    try:
        wait_until(right)
    except AssertionError:
        raise AssertionError(f"item {item} has {found}, not {expected}") from None


def check_lists(export: Export, callers: SoakCallers) -> None:
    """Every list and every feedback that was acknowledged is there, once; there are no others."""
    stored = {row["event_id"]: row for row in export.lists.drop("features", "scores").iter_rows(named=True)}
    assert len(stored) == len(export.lists), "an id was given twice"
    expected = callers.expected
    lost = [one for one in callers.shown if one.event_id not in stored and one.event_id not in expected.removed]
    assert not lost, f"{len(lost)} lists were acknowledged and are not there, such as {lost[0]}"
    there = {one.event_id for one in callers.shown}
    assert len(there) == len(callers.shown), "two requests got the same list"
    kept = sorted(expected.removed & stored.keys())
    assert not kept, f"{len(kept)} lists of users who were forgotten are there, such as {kept[0]}"
    invented = [row for name, row in stored.items() if name not in there and row["user"] is not None]
    assert not invented, f"{len(invented)} lists were never acknowledged, such as {invented[0]}"
    for one in callers.shown:
        if one.event_id not in expected.removed:
            check_list(stored[one.event_id], one)


def check_list(row: dict[str, Any], one: Shown) -> None:
    """One list is what the caller got, and has the feedback that the caller gave."""
    assert (row["model"], row["items"]) == (one.model, one.items)
    asked = {"context": one.request.get("context"), "rules": one.request.get("rules")}
    asked["candidate_features"] = [each for each in one.request.get("candidates", []) if isinstance(each, dict)] or None
    for name, told in asked.items():
        said = None if row[name] is None else json.loads(row[name])
        assert said == told, f"{one} was asked with another {name}: {row}"
    if one.results[:1] == ["late"] or not one.said:
        assert row["result"] in (None, "expired"), f"{one} has feedback: {row}"
        assert one.model == "brief" or row["result"] is None, f"{one} expired: {row}"
        return
    clicked = [] if one.clicked is None else [one.clicked - 1]
    assert (row["result"], row["clicked"]) == ("feedback", clicked), f"{one} has {row}"
    first, *later = one.results
    assert first == "accepted" or (first == "duplicate" and one.in_doubt), one
    assert set(later) <= {"duplicate"}, one


def check_outcomes(export: Export, callers: SoakCallers) -> None:
    """Every outcome that was acknowledged is there, once; there are no others."""
    stored = sorted(export.outcomes.select("event_id", "position", "type", "value").iter_rows())
    told = callers.expected.outcomes.items()
    expected = sorted((event, one.position - 1, "purchase", 1.0) for event, some in told for one in some)
    assert stored == expected, f"{len(stored)} outcomes are there, {len(expected)} were acknowledged"


def check_ruled(export: Export, callers: SoakCallers) -> int:
    """Every list keeps the rules, by the attributes that its items had when it was made; how many lists there are."""
    versions = dict(export.lists.select("event_id", "catalog_version").iter_rows())
    ruled = [one for one in callers.shown if one.model == "ruled"]
    for one in ruled:
        known = [export.attributes(item, versions[one.event_id]) for item in one.items]
        check_rules(json.loads(one.answer), one.request, known)
    return len(ruled)


def check_states(found: Settled) -> None:
    """What servers have learned is what the export says."""
    states, export = found.states, found.export
    for name, model in states.items():
        if model["learned"] is None:
            continue
        kind, _, owner = name.partition(" ")
        scales = found.replayed.cross_scales(kind, owner)  # how far a context moves preferences is chosen from clicks
        by_number = None if scales is None else scales[FACTORS]
        expected = export.state(kind, owner, MODELS[kind].get("rewards"), by_number)
        assert model["learned"] == expected.lists, f"{name} learned from {model['learned']} lists, not {expected.lists}"
        if expected.lists:
            np.testing.assert_allclose(weights(model), expected.weights(), rtol=1e-6, atol=1e-9, err_msg=name)
    for name, settings in MODELS.items():
        stored, ranked = len(export.lists.filter(model=name)), states[name]["counts"]["ranked"]
        gone = ranked - stored if settings.get("scope") == "user" else 0  # lists that went with their user still count
        assert ranked == stored + max(gone, 0), f"{name} counts {ranked} lists; there are {stored}"
