"""Every fault of a soak once, under load: the short form of `make soak`."""

import json
import math
from copy import deepcopy
from pathlib import Path

import click
import pytest
from postgres import Cluster
from soaking.checks import check_lists, check_ruled, check_states, settled
from soaking.site import postgresql_site, sqlite_site
from soaking.soak import Soak

pytestmark = pytest.mark.stress


def test_every_fault_once_on_sqlite(tmp_path: Path) -> None:
    with sqlite_site(tmp_path, megabytes=64) as site:
        soak = Soak(site, tmp_path / "export", seed=1, say=click.echo)
        soak.run(soak.every_fault())
        the_checks_would_see_it(soak, tmp_path)


def test_every_fault_once_on_postgresql(tmp_path: Path, postgres: Cluster) -> None:
    with postgresql_site(tmp_path, postgres, workers=(2, 1)) as site:
        soak = Soak(site, tmp_path / "export", seed=1, say=click.echo)
        soak.run(soak.every_fault())


def the_checks_would_see_it(soak: Soak, folder: Path) -> None:
    """If a list were lost or invented, a feedback lost, or a weight wrong in its last digits."""
    found = settled(soak.site, folder / "again")
    export = found.export
    shown = soak.callers.shown
    nameless = soak.callers.expected.anonymous  # their users were forgotten: nobody knows who was shown them
    said = next(one for one in shown if one.said and one.model == "default" and one.event_id not in nameless)
    soak.callers.shown = [*shown, deepcopy(said)]
    soak.callers.shown[-1].answer = said.answer.replace(said.event_id.encode(), b"lost")
    with pytest.raises(AssertionError, match="1 lists were acknowledged and are not there"):
        check_lists(export, soak.callers)
    soak.callers.shown = [one for one in shown if one is not said]
    with pytest.raises(AssertionError, match="1 lists were never acknowledged"):
        check_lists(export, soak.callers)
    soak.callers.shown = [*soak.callers.shown, deepcopy(said)]
    soak.callers.shown[-1].clicked = 1 if said.clicked is None else None
    with pytest.raises(AssertionError, match=r"has \{"):
        check_lists(export, soak.callers)
    check_states(found)
    found.replayed.check(found.states)
    weight = found.states["default"]["weights"][0]
    weight["weight"] = math.nextafter(weight["weight"], math.inf)
    with pytest.raises(AssertionError, match="default"):
        found.replayed.check(found.states)
    weight["weight"] *= 1 + 1e-5
    with pytest.raises(AssertionError, match="default"):
        check_states(found)
    soak.callers.shown = shown
    ruled = next(one for one in shown if one.model == "ruled")
    answer = json.loads(ruled.answer)
    answer["items"][0]["id"] = 0  # which is out of stock
    ruled.answer = json.dumps(answer).encode()
    with pytest.raises(AssertionError, match="do not hold"):
        check_ruled(export, soak.callers)
