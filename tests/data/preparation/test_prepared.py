"""Prepared data sets are saved, restored, and used with fewer topics."""

from pathlib import Path

import numpy as np
import pytest
from section_4_1 import Made, theta_by_the_book, x_by_the_book

from rankfall import FileError, Prepared, ProblemError, prepare
from rankfall.array_container import pack, unpack
from rankfall.data.preparation import PreparationSettings

FIXTURES = Path(__file__).parents[2] / "fixtures" / "0.1.0"


def test_fewer_topics_change_coverage_and_theta_alone(random: Made) -> None:
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


def test_saved_and_loaded_bit_for_bit(tmp_path: Path, random: Made) -> None:
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


def test_a_file_that_is_damaged_or_of_something_else(tmp_path: Path, random: Made) -> None:
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
