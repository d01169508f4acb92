"""What values show of themselves in a notebook, and frames for pandas without a further package."""

import sys

import numpy as np
import polars as pl
import pytest

from rankfall import (
    POLICIES,
    CascadeHybrid,
    CascadeUser,
    Catalog,
    RankError,
    RankfallError,
    generate,
    simulate,
    to_pandas,
)
from rankfall.policies import make_policy

CATALOG = Catalog(
    coverage=[[0.9, 0.0], [0.8, 0.0], [0.0, 0.7]],
    relevance=[[0.3], [0.4], [0.1]],
    ids=["a", "b", "c"],
    titles=["Alien <1979>", "Aliens", "Amelie"],
    topics=["horror", "romance"],
)


def test_values_show_themselves_in_a_notebook() -> None:
    policy = CascadeHybrid(CATALOG)
    ranking = policy.rank(2)
    policy.update(ranking, 1)
    assert "Alien &lt;1979&gt;" in CATALOG._repr_html_()
    assert "horror 0.9" in CATALOG._repr_html_()
    assert "<td>2</td><td>c</td><td>Amelie</td>" in ranking._repr_html_()
    assert "CascadeHybrid(Catalog(3 items, 2 topics, 1 features), gamma=1, 1 updates)" in policy._repr_html_()
    assert "<td>romance</td><td>topic</td>" in policy._repr_html_()


@pytest.mark.parametrize("kind", list(POLICIES.values()), ids=lambda kind: kind.__name__)
def test_every_policy_shows_itself(kind: type) -> None:
    policy = make_policy(kind, CATALOG, k=2, steps=10)
    shown, ranked = policy._repr_html_(), policy.rank(2)._repr_html_()  # type: ignore[attr-defined]
    assert shown.startswith("<table><caption>" + kind.__name__)
    assert ranked.count("<tr>") == 3


def test_a_run_shows_and_draws_itself() -> None:
    world = generate(items=20, seed=1)
    user = CascadeUser(world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0], tradeoff=0.5)
    run, other = (simulate(CascadeHybrid(world.catalog, gamma=gamma), user, steps=50, k=3) for gamma in (1.0, 0.1))
    assert repr(run) == f"Run(50 steps, regret {run.regret[-1]:.4g}, {run.clicks[-1]} clicks)"
    assert run._repr_html_().count("<tr>") == 6
    figure = run.plot(careful=other)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["this run", "careful"]
    drawn = figure.axes[0].get_lines()[1].get_ydata()
    np.testing.assert_array_equal(drawn, other.regret)
    assert "<svg" in figure._repr_svg_()  # type: ignore[attr-defined]


def test_frames_become_pandas_frames_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = pl.DataFrame({"policy": ["a", "b"], "step": [1, 2], "regret": [0.5, None], "ids": [[1], [2, 3]]})
    found = to_pandas(frame)
    assert found["policy"].tolist() == ["a", "b"]
    assert found["step"].dtype == np.int64
    assert np.isnan(found["regret"][1])
    assert found["ids"].tolist() == [[1], [2, 3]]
    assert to_pandas(frame.clear()).columns.tolist() == frame.columns
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RankfallError, match="pip install pandas"):
        to_pandas(frame)


def test_candidates_by_id_are_those_by_row() -> None:
    policy = CascadeHybrid(CATALOG)
    assert policy.rank(2, candidates=["c", "b"]).ids == policy.rank(2, candidates=[2, 1]).ids
    assert policy.rank(1, exclude=("a", "b")).ids == ("c",)
    assert policy.rank(1, candidates=np.array(["b"])).ids == ("b",)
    assert policy.rank(1, candidates=(name for name in ["b"])).ids == ("b",)
    with pytest.raises(RankfallError, match="no item with id 'x'"):
        policy.rank(1, exclude=["x"])
    with pytest.raises(RankError, match="flat sequence of row numbers"):
        policy.rank(1, exclude=[0.5])  # type: ignore[list-item]
