"""Section 4.1, written out as loops over the paper's sums, against what ``prepare`` gives."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankfall import CatalogError, FileError, Prepared, ProblemError, prepare
from rankfall.array_container import pack, unpack
from rankfall.data import Ratings, find, tables
from rankfall.data.preparation import PreparationSettings, equations

FIXTURES = Path(__file__).parents[1] / "fixtures" / "0.1.0"

Table = list[tuple[int, int, float]]


def made(folder: Path, rated: Table, topics: dict[int, str]) -> Ratings:
    users, items, values = zip(*rated, strict=True)
    pl.DataFrame({"user": users, "item": items, "rating": values}).write_parquet(folder / "ratings.parquet")
    things = {"item": list(topics), "title": [f"T{i}" for i in topics], "topics": list(topics.values())}
    pl.DataFrame(things).write_parquet(folder / "items.parquet")
    return tables(folder / "ratings.parquet", folder / "items.parquet", name="made")


@pytest.fixture
def random(tmp_path: Path) -> tuple[Ratings, Table, dict[int, str]]:
    rng = np.random.default_rng(3)
    rated = [
        (int(u), int(i), float(rng.integers(1, 6))) for u in range(1, 61) for i in range(30) if rng.random() < 0.02 * u
    ]
    topics = {i: "|".join(t for t in "abcdef" if rng.random() < 0.3) for i in range(40)}
    return made(tmp_path, rated, topics), rated, topics


def most(rated: Table, column: int, count: int) -> list[int]:
    """The ids that occur most, then the smallest ids; sorted."""
    times: dict[int, int] = {}
    for row in rated:
        times[int(row[column])] = times.get(int(row[column]), 0) + 1
    ranked = sorted(times, key=lambda i: (-times[i], i))
    return sorted(ranked[:count])


def x_by_the_book(F: list[list[int]], G: list[list[int]]) -> list[list[float]]:
    users, items, topics = range(len(F)), range(len(G)), range(len(G[0]))
    result = []
    for a in items:
        row = []
        for j in topics:
            above = sum(F[u][a] * G[a][j] for u in users)
            below = sum(1 for u in users if any(F[u][b] * G[b][j] > 0 for b in items))
            row.append(above / below if below else 0.0)
        result.append(row)
    return result


def theta_by_the_book(F: list[list[int]], G: list[list[int]]) -> list[list[float]]:
    items, topics = range(len(G)), range(len(G[0]))
    result = []
    for row in F:
        below = sum(row[a] * G[a][j] for j in topics for a in items)
        result.append([sum(row[a] * G[a][j] for a in items) / below if below else 0.0 for j in topics])
    return result


bits = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4)).flatmap(
    lambda n: st.tuples(hnp.arrays(bool, (n[0], n[1])), hnp.arrays(bool, (n[1], n[2])))
)


@given(bits)
def test_coverage_and_theta_are_the_sums_of_the_paper(given_bits: tuple[np.ndarray, np.ndarray]) -> None:
    F, G = given_bits
    ones, members = F.astype(int).tolist(), G.astype(int).tolist()
    coverage = equations.topic_coverage(F, G)
    np.testing.assert_allclose(coverage, x_by_the_book(ones, members), rtol=1e-12)
    np.testing.assert_allclose(equations.topic_preferences(F, G), theta_by_the_book(ones, members), rtol=1e-12)
    assert coverage.min() >= 0
    assert coverage.max() <= 1


@settings(max_examples=50)
@given(hnp.arrays(bool, st.tuples(st.integers(3, 8), st.integers(3, 8))), st.integers(1, 3))
def test_relevance_features(F: np.ndarray, rank: int) -> None:
    z = equations.relevance_features(F, rank)
    assert z.shape == (F.shape[1], rank)
    lengths = np.linalg.norm(z, axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    assert np.all(lengths[~F.any(axis=0)] == 0)  # nobody likes it: nothing is known of it
    values, vectors = np.linalg.eigh(F.T.astype(float) @ F.astype(float))  # the same vectors, by another road
    values, vectors = values[::-1], vectors[:, ::-1]
    if np.all(np.diff(values[: rank + 1]) < -1e-6):  # otherwise they are not determined
        for j in range(rank):
            if vectors[np.abs(vectors[:, j]).argmax(), j] < 0:
                vectors[:, j] *= -1
        raw = vectors[:, :rank] * np.sqrt(np.maximum(values[:rank], 0))
        norm = np.linalg.norm(raw, axis=1, keepdims=True)
        clear = (norm[:, 0] > 1e-6) & (np.sort(np.abs(vectors[:, :rank]), axis=0)[-2:].std(axis=0).min() > 1e-6)
        np.testing.assert_allclose(z[clear], (raw / np.maximum(norm, 1e-9))[clear], atol=1e-6)


@pytest.mark.parametrize("shape", [(90, 150), (150, 90)])
@pytest.mark.parametrize("true_rank", [3, 90])
def test_relevance_features_of_larger_matrices(shape: tuple[int, int], true_rank: int) -> None:
    rng = np.random.default_rng(8)
    F = rng.random(shape) < 0.15
    if true_rank == 3:
        F = F[rng.integers(0, 3, len(F))]
    F[:, 7] = False
    z = equations.relevance_features(F, 5)
    assert z.tobytes() == equations.relevance_features(F, 5).tobytes()
    _, values, vectors = np.linalg.svd(F.astype(float))
    raw = vectors[:5].T * np.where(values[:5] > 1e-9, values[:5], 0)
    raw *= np.sign(vectors[np.arange(5), np.abs(vectors[:5]).argmax(axis=1)])
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(z, np.where(length > 1e-9, raw / np.maximum(length, 1e-9), 0), atol=1e-9)
    assert not z[7].any()


@settings(max_examples=50)
@given(hnp.arrays(bool, (4, 7)), hnp.arrays(float, (7, 2), elements=st.floats(-1, 1, width=16)))
def test_beta_is_least_squares(F: np.ndarray, z: np.ndarray) -> None:
    beta = equations.relevance_preferences(F, z)
    residual = F.astype(float) - beta @ z.T
    np.testing.assert_allclose(residual @ z, 0, atol=1e-6)  # the normal equations
    unit = np.linalg.norm(equations.relevance_preferences(F, z, unit=True), axis=1)
    assert np.all(np.isclose(unit, 1) | (np.linalg.norm(beta, axis=1) == 0))


def test_prepare_against_the_text_of_the_paper(random: tuple[Ratings, Table, dict[int, str]]) -> None:
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


def test_fewer_topics_change_coverage_and_theta_alone(random: tuple[Ratings, Table, dict[int, str]]) -> None:
    ratings = random[0]
    full = prepare(ratings, users=40, items=20, threshold=4, rank=3)
    two = full.with_topics(2)
    G = full.membership[:, :2].astype(int).tolist()
    np.testing.assert_allclose(two.coverage, x_by_the_book(full.train.astype(int).tolist(), G))
    np.testing.assert_allclose(two.theta, theta_by_the_book(full.test.astype(int).tolist(), G))
    for name in ("relevance", "beta", "user_ids", "item_ids", "train", "test"):
        assert getattr(two, name) is getattr(full, name)
    assert two.topics == full.topics[:2]
    assert two.catalog().topics == two.topics
    assert two.without_topics == int((two.theta.sum(axis=1) == 0).sum())
    assert two.fingerprint == prepare(ratings, users=40, items=20, threshold=4, rank=3, topics=2).fingerprint
    assert two.with_topics(None).fingerprint == full.fingerprint != two.fingerprint
    with pytest.raises(ProblemError, match="topics must be a whole number from 1 to 6, got 7"):
        full.with_topics(7)


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


def test_the_same_seed_gives_the_same_bits(random: tuple[Ratings, Table, dict[int, str]]) -> None:
    ratings = random[0]
    one, two, other = (prepare(ratings, users=40, items=20, threshold=4, rank=3, seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == two.fingerprint != other.fingerprint
    assert one.beta.tobytes() == two.beta.tobytes()
    assert one.user_ids != other.user_ids


def test_order_of_the_ratings_does_not_matter(tmp_path: Path, random: tuple[Ratings, Table, dict[int, str]]) -> None:
    ratings, rated, topics = random
    before = prepare(ratings, users=20, items=10, rank=2)
    twice = [*rated[::-1], *rated]  # and a rating told twice is one pair
    after = prepare(made(tmp_path, twice, topics), users=20, items=10, rank=2)
    assert before.train.tobytes() == after.train.tobytes()
    assert before.relevance.tobytes() == after.relevance.tobytes()


def test_saved_and_loaded_bit_for_bit(tmp_path: Path, random: tuple[Ratings, Table, dict[int, str]]) -> None:
    prepared = prepare(random[0], users=41, items=13, threshold=4, rank=3, topics=4)
    prepared.save(tmp_path / "p.npz")
    again = Prepared.load(tmp_path / "p.npz")
    assert again.fingerprint == prepared.fingerprint
    assert again.settings == prepared.settings
    assert again.catalog() == prepared.catalog()
    assert again.catalog(perfect_coverage=True) == prepared.catalog(perfect_coverage=True) != prepared.catalog()
    assert again.describe() == prepared.describe()
    for name in ("coverage", "user_coverage", "relevance", "theta", "beta", "train", "test", "membership"):
        array = getattr(again, name)
        assert array.tobytes() == getattr(prepared, name).tobytes()
        assert not array.flags.writeable


def test_a_file_of_0_1_0_opens_with_the_same_bits() -> None:
    prepared = Prepared.load(FIXTURES / "prepared.npz")
    assert prepared.fingerprint == "b3cec475279a1edc5c50107a"  # of settings, ids, ratings, relevance and beta
    assert float(prepared.coverage.sum()).hex() == "0x1.c979435e50d79p+4"
    assert float(prepared.user_coverage.sum()).hex() == "0x1.9ae2f4ebf06e2p+4"
    assert prepared.settings == PreparationSettings(40, 25, 4.0, 5, 3, seed=7)


def test_a_file_that_is_damaged_or_of_something_else(
    tmp_path: Path, random: tuple[Ratings, Table, dict[int, str]]
) -> None:
    path = tmp_path / "p.npz"
    prepare(random[0], users=40, items=12, threshold=4, rank=3).save(path)
    header, blocks = unpack(path.read_bytes())
    path.write_bytes(pack(header, {**blocks, "beta": blocks["beta"] + 1e-9}))
    with pytest.raises(FileError, match=r"not a prepared data set saved by rankfall, or it is damaged: .*fingerprint"):
        Prepared.load(path)
    path.write_bytes(pack(header, {**blocks, "beta": blocks["beta"][1:]}))
    with pytest.raises(FileError, match="beta has shape"):
        Prepared.load(path)
    path.write_text("nonsense")
    with pytest.raises(FileError, match="is not a prepared data set"):
        Prepared.load(path)
    with pytest.raises(FileError, match="does not exist"):
        Prepared.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 1}, "users must be a whole number from 2 on, got 1"),
        ({"items": 0}, "items must be a whole number from 1 on, got 0"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"threshold": 6}, "no training user of made rated any of the 20 items 6 or more; lower the threshold"),
        ({"topics": 0}, "topics must be a whole number from 1 on, got 0"),
        ({"topics": 7}, "topics must be a whole number from 1 to 6, got 7"),
        ({"rank": 21}, "rank must be a whole number from 1 to 20, got 21"),
        ({"seed": -1}, "seed must be a whole number from 0 on, got -1"),
        ({"unit_preferences": "yes"}, "unit_preferences must be True or False, got 'yes'"),
    ],
)
def test_what_makes_no_sense(
    random: tuple[Ratings, Table, dict[int, str]], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ProblemError, match=message):
        prepare(random[0], **{"users": 40, "items": 20, **options})  # type: ignore[arg-type]


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
