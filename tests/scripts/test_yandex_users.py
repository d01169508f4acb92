"""Users for studies from click models in the layout of BatchRank's authors, against their simulators in plain words."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rankfall.experiments.people import read_people

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # last: names of tests/support come first

from yandex_users import main


def simulated(model, args, items):
    """(k,) how likely each position is clicked, by telling every story that their simulator can tell."""
    attraction, last_column = args[0], len(args[1]) - 1 if model == "UBM" else None
    clicked = np.zeros(len(items))

    def read(i, chance, last):
        if i == len(items) or not chance:
            return
        a = attraction[items[i]]
        p = a * {"PBM": lambda: args[1][i], "UBM": lambda: args[1][i][last]}.get(model, lambda: 1.0)()
        clicked[i] += chance * p
        stays, stays_none = 1.0, 1.0
        if model == "CM":
            stays = 0.0
        if model == "DCM":
            stays = 1.0 - args[1][i]
        if model == "DBN":
            stays, stays_none = (1.0 - args[1][items[i]]) * (1.0 - args[2]), 1.0 - args[2]
        if model == "CCM":
            stays, stays_none = a * args[3] + (1.0 - a) * args[2], args[1]
        read(i + 1, chance * p * stays, i)
        read(i + 1, chance * (1.0 - p) * stays_none, last)

    read(0, 1.0, last_column)
    return clicked


def arguments(model, rng):
    table = np.where(np.tri(4, k=-1, dtype=bool), rng.random((4, 4)), 0.2)
    table[:, -1] = rng.random(4)
    own = {
        "CM": [],
        "DCM": [rng.random(4).tolist()],
        "PBM": [rng.random(4).tolist()],
        "UBM": [table.tolist()],
        "DBN": [rng.random(5).tolist(), 0.1],
        "CCM": rng.random(3).tolist(),
    }[model]
    return [rng.random(5).tolist(), *own, 12345]


def test_users_click_as_in_the_authors_simulators(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    models = ("CM", "DCM", "PBM", "UBM", "DBN", "CCM")
    fitted = {model: {str(query): {"args": arguments(model, rng)} for query in (7, 8)} for model in models}
    (tmp_path / "fitted.json").write_text(json.dumps(fitted))
    result = CliRunner().invoke(main, [str(tmp_path / "fitted.json"), str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    for model, queries in fitted.items():
        people = read_people(tmp_path / "out" / f"{model.lower()}.json")
        assert people.people == ("7", "8")
        for query, entry in queries.items():
            items = rng.permutation(5)[:4]
            clicked = simulated(model, entry["args"], items)
            ours = [people.user(query, "clicks").reward(items[: i + 1]) for i in range(4)]
            assert ours == pytest.approx(np.cumsum(clicked).tolist(), abs=1e-12), model
