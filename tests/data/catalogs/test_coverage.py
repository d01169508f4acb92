"""Coverage from clicks, against loops over the sums of section 4.1; nothing is 0 or 1 by accident."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from section_4_1 import x_by_the_book

from rankfall.data.catalogs.coverage import LEAST, MOST, coverage_from_clicks, estimated_smoothing
from rankfall.data.catalogs.interactions import Interactions, interactions

sizes = st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 3))
logs = sizes.flatmap(
    lambda n: st.tuples(hnp.arrays(bool, (n[0], n[1])), hnp.arrays(bool, (n[0], n[1])), hnp.arrays(bool, (n[1], n[2])))
)
"""Who was shown which item, who would click it, and which item is of which topic."""


def counted(shown: np.ndarray, wants: np.ndarray, member: np.ndarray, part: int = 3) -> Interactions:
    """From rows of a log, in parts; a pair that was shown is there twice, clicked the second time at most."""
    pairs = [(u, a) for u, a in np.argwhere(shown)]
    rows = [(f"u{u}", int(a), False) for u, a in pairs] + [(f"u{u}", int(a), bool(wants[u, a])) for u, a in pairs]
    rows.append(("stranger", 99, True))
    frame = pl.DataFrame(rows, schema={"who": pl.String, "item": pl.Int64, "click": pl.Boolean}, orient="row")
    return interactions(frame.iter_slices(part), tuple(range(shown.shape[1])), member)


@given(logs)
def test_where_everyone_saw_everything_it_is_section_4_1(log: tuple[np.ndarray, ...]) -> None:
    _, wants, member = log
    seen = counted(np.ones_like(wants), wants, member)
    assert seen.unknown == 1
    book = x_by_the_book(wants.astype(int).tolist(), member.astype(int).tolist())
    for audience in ("shown", "everyone"):
        made = coverage_from_clicks(seen, member, typical=0.2, smoothing=0.0, audience=audience)
        np.testing.assert_allclose(made.coverage, book, rtol=1e-12)


@given(logs, st.floats(0.5, 20))
def test_the_share_is_of_those_who_were_shown_the_item(log: tuple[np.ndarray, ...], smoothing: float) -> None:
    shown, wants, member = log
    clicked = shown & wants
    people, items, topics = range(len(shown)), range(shown.shape[1]), range(member.shape[1])
    above, below = np.zeros(member.shape), np.zeros(member.shape)
    for a in items:
        for j in topics:
            if member[a, j]:
                fans = [u for u in people if any(clicked[u, b] and member[b, j] for b in items)]
                above[a, j] = sum(clicked[u, a] for u in fans)
                below[a, j] = sum(shown[u, a] for u in fans)
    overall = (above.sum() + 0.2 * smoothing) / (below.sum() + smoothing)
    usual = [(above[:, j].sum() + overall * smoothing) / (below[:, j].sum() + smoothing) for j in topics]
    expected = np.where(member, (above + np.array(usual) * smoothing) / (below + smoothing), 0.0)
    made = coverage_from_clicks(counted(shown, wants, member), member, typical=0.2, smoothing=smoothing)
    np.testing.assert_allclose(made.coverage, expected, rtol=1e-12)
    np.testing.assert_allclose(made.unseen, usual, rtol=1e-12)
    assert ((made.coverage > 0) == member).all()
    assert made.coverage.max(initial=0.0) < 1.0


def test_the_log_is_counted_alike_however_it_is_cut() -> None:
    rng = np.random.default_rng(0)
    shown, wants, member = rng.random((50, 20)) < 0.4, rng.random((50, 20)) < 0.3, rng.random((20, 4)) < 0.5
    one, other = (counted(shown, wants, member, part) for part in (7, 10_000))
    assert one.people == other.people == int(shown.any(axis=1).sum())
    assert one.shown.tolist() == other.shown.tolist() == shown.sum(axis=0).tolist()
    assert one.clickers.tolist() == other.clickers.tolist() == (shown & wants).sum(axis=0).tolist()
    assert one.exposed.tolist() == other.exposed.tolist()


def test_smoothing_is_estimated_from_how_much_items_differ() -> None:
    rng = np.random.default_rng(4)
    people = rng.integers(1, 200, (2000, 3))
    usual = np.array([0.1, 0.3, 0.5])
    for strength in (20.0, 100.0, 500.0):
        wanted = rng.beta(strength * usual, strength * (1 - usual), people.shape)
        found = estimated_smoothing(rng.binomial(people, wanted), people)
        assert 0.7 * strength < found < 1.5 * strength
    assert estimated_smoothing(rng.binomial(people, usual), people) > 3000  # they do not differ
    assert estimated_smoothing((people * (rng.random(people.shape) < 0.5)).astype(int), people) == LEAST
    assert estimated_smoothing(np.zeros((2, 1), dtype=int), np.zeros((2, 1), dtype=int)) == MOST
