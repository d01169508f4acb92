"""A comparison from lists to a standing."""

from pathlib import Path

import numpy as np
import pytest

from rankfall import CascadeUCB1, Catalog
from rankfall.compare import (
    Comparison,
    DoubleThompson,
    Interleaved,
    Interleaving,
    MergeDTS,
    Method,
    Probabilistic,
    TeamDraft,
    Together,
    UniformPairs,
)
from rankfall.errors import FeedbackError, FileError, ProblemError, RankError

LISTS = {"a": [0, 1, 2, 3, 4, 5], "b": [3, 0, 5, 1, 2, 4], "c": [5, 4, 3, 2, 1, 0]}
ATTRACTION = np.array([0.6, 0.5, 0.3, 0.2, 0.1, 0.05])


def click(shown: Interleaved, rng: np.random.Generator) -> list[int]:
    """A user who examines lower positions less, and clicks what attracts."""
    chances = ATTRACTION[list(shown.items)] * 0.9 ** np.arange(len(shown))
    return np.flatnonzero(rng.random(len(shown)) < chances).tolist()


def play(comparison: Comparison, steps: int, seed: int = 0) -> list[Interleaved]:
    rng, lists = np.random.default_rng(seed), []
    for _ in range(steps):
        shown = comparison.next(LISTS, 4, rng)
        comparison.feedback(shown, click(shown, rng))
        lists.append(shown)
    return lists


@pytest.mark.parametrize("interleaving", [TeamDraft(), Probabilistic()])
@pytest.mark.parametrize(
    "method", [MergeDTS(), MergeDTS(alpha=0.3, c=100.0), DoubleThompson(), UniformPairs(), Together()], ids=str
)
def test_the_best_ranker_leads_and_poor_ones_are_out(method: Method, interleaving: Interleaving) -> None:
    comparison = Comparison(LISTS, method, interleaving)
    play(comparison, 3000)
    standing = comparison.standing()
    assert standing.best == "a"
    assert "a" in standing.left
    assert "c" not in standing.left or isinstance(method, DoubleThompson)
    assert {pair.ranker for pair in standing.pairs} == {"b", "c"}
    for pair in standing.pairs:
        assert 0.0 <= pair.low <= pair.share <= pair.high <= 1.0


def test_the_words_of_a_standing() -> None:
    comparison = Comparison(["a", "b", "c"], MergeDTS(alpha=0.3, c=100.0))
    assert str(comparison.standing()) == "a leads after 0 lists; 3 of 3 can still be best (error at most 0.05)"
    play(comparison, 3000)
    standing = comparison.standing(0.01)
    assert standing.decided
    assert str(standing) == f"a is best, after {standing.lists:,} lists (error at most 0.01)"
    assert comparison.next(LISTS, 3).rankers == ("a",)
    assert comparison.next(LISTS, 3).items == (0, 1, 2)


def test_a_circle_has_no_best_ranker() -> None:
    comparison = Comparison(["rock", "paper", "scissors"], UniformPairs())
    for _ in range(300):
        comparison.duels.learn({(1, 0): 1.0, (2, 1): 1.0, (0, 2): 1.0})
    standing = comparison.standing()
    assert (standing.left, standing.decided) == ((), False)
    assert str(standing) == f"no ranker beats every other one, after 300 lists; {standing.best} beats most of them"


def test_equal_rankers_are_not_told_apart() -> None:
    same = {"a": LISTS["a"], "b": LISTS["a"]}
    for interleaving in (TeamDraft(), Probabilistic()):
        comparison, rng = Comparison(same, UniformPairs(), interleaving), np.random.default_rng(2)
        for _ in range(3000):
            shown = comparison.next(same, 4, rng)
            comparison.feedback(shown, click(shown, rng))
        assert comparison.standing().left == ("a", "b")


def test_lists_are_made_for_those_who_are_compared() -> None:
    asked = []

    def make(name: str) -> list[int]:
        asked.append(name)
        return LISTS[name]

    shown = Comparison(LISTS).next(make, 4, np.random.default_rng(0))
    assert tuple(asked) == shown.rankers
    assert len(shown) == 4


def test_rankings_of_policies_can_be_compared() -> None:
    policy = CascadeUCB1(Catalog(ids=["x", "y", "z"]))
    shown = Comparison(["a", "b"]).next({"a": policy.rank(3), "b": policy.rank(2)}, 3)
    assert set(shown.items) == {"x", "y", "z"}
    shown = Comparison(["a", "b"]).next({"a": np.array([1, 2, 3]), "b": policy.rank(2).items}, 3)
    assert Interleaved.decode(shown.encode()).items == shown.items


def test_feedback_may_come_late_from_text_and_out_of_order() -> None:
    one, other = Comparison(LISTS, UniformPairs()), Comparison(LISTS, UniformPairs())
    rng = np.random.default_rng(0)
    shown = [one.next(LISTS, 4, rng) for _ in range(50)]
    clicked = [click(each, rng) for each in shown]
    for each, clicks in zip(shown, clicked, strict=True):
        one.feedback(each, clicks)
    for each, clicks in reversed(list(zip(shown, clicked, strict=True))):
        other.feedback(Interleaved.decode(each.encode()), clicks)
    assert one.state()["wins"].tolist() == other.state()["wins"].tolist()
    other.feedback(shown[0], None)
    assert other.duels.n_updates == one.duels.n_updates


@pytest.mark.parametrize(
    "method", [MergeDTS(batch=2, alpha=0.3, c=50.0, seed=4), DoubleThompson(), Together()], ids=str
)
def test_a_saved_comparison_goes_on_bit_for_bit(method: Method, tmp_path: Path) -> None:
    comparison = Comparison(LISTS, method, Probabilistic(tau=2.0))
    play(comparison, 100)
    comparison.save(tmp_path / "comparison")
    again = Comparison.load(tmp_path / "comparison")
    assert (again.rankers, again.method, again.interleaving) == (tuple(LISTS), method, Probabilistic(tau=2.0))
    assert [each.items for each in play(again, 100, 1)] == [each.items for each in play(comparison, 100, 1)]
    assert again.state()["wins"].tobytes() == comparison.state()["wins"].tobytes()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"something")
    with pytest.raises(FileError, match="not a comparison"):
        Comparison.load(tmp_path / "other")


def test_what_makes_no_sense_is_refused() -> None:
    for rankers in ([], ["a"], ["a", "a"], [1, 2]):
        with pytest.raises(ProblemError, match="ranker"):
            Comparison(rankers)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="method must be"):
        Comparison(["a", "b"], "MergeDTS")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="interleaving must be"):
        Comparison(["a", "b"], interleaving="team_draft")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match=r"alpha 0\.51 is so close to 0\.5"):
        Comparison([str(n) for n in range(100)], MergeDTS(alpha=0.51))
    comparison = Comparison(["a", "b"])
    with pytest.raises(RankError, match="no list of the ranker"):
        comparison.next({"a": [1]}, 2)
    with pytest.raises(RankError, match="lists must map names of rankers to their lists, or be a function, got 3"):
        comparison.next(3, 2)  # type: ignore[arg-type]
    with pytest.raises(RankError, match=r"rng must be a numpy\.random\.Generator or None, got int"):
        comparison.next({"a": [1], "b": [2]}, 2, 3)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="next\\(\\) gave"):
        comparison.feedback([1, 2], 0)  # type: ignore[arg-type]
    with pytest.raises(FeedbackError, match="not compared here"):
        comparison.feedback(TeamDraft().interleave({"x": [1], "y": [2]}, 2, np.random.default_rng(0)), 0)
    with pytest.raises(ProblemError, match="error must be"):
        comparison.standing(0.0)
