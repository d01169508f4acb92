"""What ``prepare`` gives, against the text of the paper."""

from pathlib import Path

import numpy as np
import pytest
from section_4_1 import Made, Rated, made, theta_by_the_book, x_by_the_book

from rankfall import CatalogError, Prepared, ProblemError, prepare
from rankfall.data import find


def most(rated: Rated, column: int, count: int) -> list[int]:
    """The ids that occur most, then the smallest ids; sorted."""
    times: dict[int, int] = {}
    for row in rated:
        times[int(row[column])] = times.get(int(row[column]), 0) + 1
    ranked = sorted(times, key=lambda i: (-times[i], i))
    return sorted(ranked[:count])


def test_prepare_against_the_text_of_the_paper(random: Made) -> None:
    ratings, rated, topics = random
    prepared = prepare(ratings, users=41, items=12, threshold=4, rank=3, seed=5)
    items, users = most(rated, 1, 12), most(rated, 0, 41)
    assert list(prepared.item_ids) == items
    assert prepared.titles == tuple(f"T{i}" for i in items)
    positive = {(u, i) for u, i, value in rated if value >= 4}
    test_users = list(prepared.user_ids)
    assert test_users == sorted(test_users)
    assert set(test_users) <= set(users)
    assert len(prepared.train) == 21
    assert len(test_users) + prepared.left_out == 20
    F_test = [[int((u, i) in positive) for i in items] for u in test_users]
    assert prepared.test.astype(int).tolist() == F_test
    everyone = sorted([int((u, i) in positive) for i in items] for u in users)
    no_likes = [[0] * 12] * prepared.left_out
    assert sorted([*prepared.train.astype(int).tolist(), *F_test, *no_likes]) == everyone
    by_size = sorted("abcdef", key=lambda t: (-sum(t in topics[i] for i in items), t))
    assert list(prepared.topics) == [t for t in by_size if any(t in topics[i] for i in items)]
    G = [[int(t in topics[i].split("|")) for t in prepared.topics] for i in items]
    F_train = prepared.train.astype(int).tolist()
    np.testing.assert_allclose(prepared.coverage, x_by_the_book(F_train, G))
    np.testing.assert_allclose(prepared.user_coverage, x_by_the_book(F_test, G))
    np.testing.assert_allclose(prepared.theta, theta_by_the_book(F_test, G))
    for u, row in enumerate(F_test):
        np.testing.assert_allclose(prepared.beta[u], np.linalg.pinv(prepared.relevance) @ row, atol=1e-9)
    assert prepared.positive_share == sum(map(sum, everyone)) / (41 * 12)
    assert prepared.found == {"users": len({r[0] for r in rated}), "items": 30, "ratings": len(rated)}


def test_a_user_who_likes_none_of_the_topics_is_kept_and_counted(tmp_path: Path) -> None:
    rated = [(u, i, 5.0) for u in range(4) for i in range(3)] + [(u, 3, 5.0) for u in range(4, 8)]
    prepared = prepare(made(tmp_path, rated, {0: "a", 1: "a", 2: "a", 3: "b"}), rank=1, topics=1)
    lonely = [u >= 4 for u in prepared.user_ids]
    assert prepared.without_topics == sum(lonely) > 0
    assert (prepared.theta.sum(axis=1) == 0).tolist() == lonely
    assert "like none" in prepared.describe()


def test_users_without_positive_ratings_are_left_out(tmp_path: Path) -> None:
    rated = [(u, i, 5.0 if u < 10 else 1.0) for u in range(20) for i in range(5)]
    prepared = prepare(made(tmp_path, rated, dict.fromkeys(range(5), "a")), rank=1)
    assert prepared.left_out + len(prepared.user_ids) == 10
    assert set(prepared.user_ids) <= set(range(10))
    assert prepared.test.any(axis=1).all()
    assert prepared.positive_share == 0.5


def test_the_same_seed_gives_the_same_bits(random: Made) -> None:
    ratings = random[0]
    one, two, other = (prepare(ratings, users=40, items=20, threshold=4, rank=3, seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == two.fingerprint != other.fingerprint
    assert one.beta.tobytes() == two.beta.tobytes()
    assert one.user_ids != other.user_ids


def test_order_of_the_ratings_does_not_matter(tmp_path: Path, random: Made) -> None:
    ratings, rated, topics = random
    before = prepare(ratings, users=20, items=10, rank=2)
    twice = [*rated[::-1], *rated]  # and a rating told twice is one pair
    after = prepare(made(tmp_path, twice, topics), users=20, items=10, rank=2)
    assert before.train.tobytes() == after.train.tobytes()
    assert before.relevance.tobytes() == after.relevance.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 1}, "users must be a whole number from 2 on, got 1"),
        ({"items": 0}, "items must be a whole number from 1 on, got 0"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"threshold": 6}, "no training user of made rated any of the 20 items 6 or more; lower the threshold"),
        ({"topics": 0}, "topics must be a whole number from 1 on, got 0"),
        ({"topics": 7}, "topics must be a whole number from 1 to 6, got 7"),
        ({"rank": 21}, "rank is 21, and .* has 20 users for training and 20 items: no more than 20 relevance features"),
        ({"seed": -1}, "seed must be a whole number from 0 on, got -1"),
        ({"unit_preferences": "yes"}, "unit_preferences must be True or False, got 'yes'"),
        ({"one_topic": 1}, "one_topic must be True or False, got 1"),
    ],
)
def test_what_makes_no_sense(random: Made, options: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        prepare(random[0], **{"users": 40, "items": 20, **options})  # type: ignore[arg-type]


def test_one_topic_leaves_each_item_its_rarest(tmp_path: Path) -> None:
    ratings = [(user, item, 5.0) for user in (1, 2) for item in (1, 2, 3, 4)]
    prepared = prepare(made(tmp_path, ratings, {1: "a|b", 2: "a|c", 3: "a|b|d", 4: "a"}), rank=1, one_topic=True)
    rarest = [np.array(prepared.all_topics)[row].tolist() for row in prepared.membership]
    assert rarest == [["b"], ["c"], ["d"], ["a"]]  # of b and d of item 3, d has fewer items; counts are of all topics
    assert "4 of 4, one for each item" in prepared.describe()
    prepared.save(tmp_path / "one.npz")
    assert Prepared.load(tmp_path / "one.npz").settings.one_topic


def test_an_item_without_a_row_in_the_items_table(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="item 7 of made is rated and not in its items table of 1"):
        prepare(made(tmp_path, [(1, 1, 5.0), (2, 7, 5.0)], {1: "a"}), rank=1)


def test_movielens_small() -> None:
    prepared = prepare(find("movielens-small"))
    assert (len(prepared.train), len(prepared.test) + prepared.left_out) == (336, 335)
    assert prepared.catalog().n_features == 10
    assert round(prepared.positive_share, 3) == 0.017
    assert round(prepare(find("movielens-small"), threshold=4).positive_share, 3) == 0.052
    assert prepared.topics[:3] == ("Drama", "Comedy", "Action")
    assert prepared.n_topics == 19  # no chosen movie is without a genre
    assert prepared.with_topics(20).topics[-1] == "unknown"
    np.testing.assert_allclose(prepared.theta.sum(axis=1), 1)
    unit = prepare(find("movielens-small"), unit_preferences=True)
    lengths = np.linalg.norm(unit.beta, axis=1)
    assert np.all(np.isclose(lengths, 1) | ~prepared.beta.any(axis=1))  # none for who likes only what z is silent on
    assert "671 most active of 671 (1,000 asked for)" in prepared.describe()
