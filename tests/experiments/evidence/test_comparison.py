"""Click models side by side, and what they say about diversity."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hybrid_logs import BY_ITEM, CATALOG, EXAMINED, FLAT, log_of, with_people

from rankfall import Catalog, ProblemError
from rankfall.experiments.evidence import REFERENCE, Comparison, Verdict, compare, verdict, write_page
from rankfall.experiments.evidence.comparison import Gain
from rankfall.experiments.evidence.verdict import Answer, _sentence
from rankfall.experiments.statistics import interval

LISTS = 12_000


@pytest.fixture(scope="module")
def diverse() -> tuple[Comparison, Verdict]:
    found = compare(log_of(EXAMINED, LISTS), CATALOG)
    return found, verdict(found)


def says(found: Verdict) -> list[str]:
    return [answer.says for answer in found.answers]


def test_a_diverse_user_speaks_for_diversity(diverse: tuple[Comparison, Verdict]) -> None:
    found, said = diverse
    assert found.rows[0].name == "hybrid, examined_cascade"
    assert found[REFERENCE].gain.mean == 0.0
    assert says(said)[1:] == ["yes"] * 4
    assert said.sentence.startswith("For diversity: ")
    assert "CascadeHybrid" in said.sentence


def test_a_user_whose_topics_do_not_diminish_speaks_against() -> None:
    said = verdict(compare(log_of(FLAT, LISTS), CATALOG))
    assert says(said)[1:3] == ["yes", "no"]
    assert said.sentence.startswith("Against diversity: ")


def test_a_user_who_knows_items_alone_is_not_taken_for_diverse() -> None:
    """Also though positions further down are examined less, which a cascade takes for topics that are used up."""
    found = compare(log_of(BY_ITEM, LISTS), CATALOG)
    said = verdict(found)
    assert says(said)[2] != "yes"
    assert says(said)[4] == "no"
    assert found.rows[0].name == "item, examined_cascade"
    assert found.gain("hybrid, cascade", "topics, cascade").low > 0
    assert "An attraction for each item predicts better" in said.sentence


@pytest.mark.parametrize(
    ("signs", "begins"),
    [
        ((1, 1, 1, 1, 0), "For diversity: "),
        ((1, 1, -1, 0, 0), "Against diversity: "),
        ((0, 1, 0, 0, 0), "Open: topics matter"),
        ((0, 0, 1, 0, 0), "Open: topics that items above use up"),
        ((1, 0, 0, 0, 0), "No sign of diversity: "),
        ((0, 0, 0, 0, 0), "Neither topics nor features"),
    ],
)
def test_the_sentence_contradicts_no_answer(signs: tuple[int, ...], begins: str) -> None:
    """Answers of yes (1), no (-1) and cannot be told (0), in the order of the questions."""
    gains = [Gain(0.01 * sign, 0.01 * sign - 0.005, 0.01 * sign + 0.005, 100) for sign in signs]
    answers = [Answer("?", "one", "other", gain) for gain in gains]
    assert _sentence(*answers).startswith(begins)


def test_without_a_catalog_only_models_that_need_none_are_compared() -> None:
    found = compare(log_of(EXAMINED, 500), reference="item, cascade")
    assert {row.name for row in found.rows} == {
        "constant", "item, cascade", "item, examined_cascade", "item, dependent_click", "item, position_based",
        "item, user_browsing", "item, dynamic_bayesian", "item, simplified_bayesian", "item, click_chain",
    }  # fmt: skip
    assert found["item, cascade"].gain.mean == 0.0
    with pytest.raises(ProblemError, match="without a catalog nothing is known of topics"):
        verdict(found)
    with pytest.raises(ProblemError, match="the reference 'best' is not compared; choose from constant; item, cascade"):
        compare(log_of(EXAMINED, 500), reference="best")
    with pytest.raises(ProblemError, match="no model 'best' was compared"):
        found["best"]


def test_lists_of_one_user_count_as_one() -> None:
    """Intervals over lists are those of the mean; over users they are wider where a user's lists are alike."""
    log = log_of(EXAMINED, 600)
    over_lists = compare(log)
    assert (over_lists.units, over_lists.test) == ("lists", 120)
    row = over_lists["item, cascade"]
    plain = interval(row.likelihoods - over_lists[REFERENCE].likelihoods, 0.95)
    np.testing.assert_allclose(row.gain[:3], plain, rtol=1e-9)
    people = with_people({"a": log, "b": log, "c": log})  # three users who all did the same
    over_users = compare(people)
    assert over_users.units == "users"
    assert over_users["item, cascade"].gain.units == 3


def test_lists_with_unknown_items_are_left_out_and_counted() -> None:
    log = log_of(EXAMINED, 300)
    part = Catalog(CATALOG.coverage[1:], CATALOG.relevance[1:], ids=range(1, len(CATALOG)))
    found = compare(log, part)
    assert found.left_out == log.filter((pl.col("item") == 0).any().over("list"))["list"].n_unique()
    assert found.train + found.test + found.left_out == 300


def test_the_page(diverse: tuple[Comparison, Verdict], tmp_path: Path) -> None:
    found, said = diverse
    files = write_page(found, tmp_path / "page", said)
    assert [file.name for file in files] == ["evidence.html", "evidence.csv", "evidence.png", "evidence.svg"]
    page = files[0].read_text()
    for text in (said.sentence[:60], "hybrid, examined_cascade", "constant (reference)", "judged by 2,400 others"):
        assert text in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    table = pl.read_csv(files[1])
    assert table["model"].to_list() == [row.name for row in found.rows]
    assert write_page(found, tmp_path / "again", said)[0].read_bytes() == files[0].read_bytes()
    assert "the question stays open" in write_page(found, tmp_path / "open")[0].read_text()
