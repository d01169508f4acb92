from dataclasses import replace
from pathlib import Path

import pytest

from rankfall import CatalogError, ProblemError
from rankfall.experiments import Case, Plan, Study, Sweep, plan

SMALL = {"users": 100, "items": 60, "threshold": 4.0, "rank": 3}
STUDY = Study(
    "tiny",
    {"dataset": "movielens-small", "preparation": SMALL, "topics": 5},
    ("CascadeHybrid", "CascadeLSB"),
    sweeps=(Sweep({"user.tradeoff": (0.0, 0.5)}), Sweep({"k": (4, 3)})),
    k=4,
    users=3,
    repeats=2,
    steps=60,
)


@pytest.fixture(scope="module")
def laid() -> Plan:
    return plan(STUDY)


def test_cases_that_coincide_share_a_setup(laid: Plan) -> None:
    study = replace(STUDY, user={**STUDY.user, "tradeoff": 0.5})
    assert len(laid.rows) == 8
    assert len(plan(study, laid.data).setups) == 6
    assert laid.steps == sum(setup.runs * setup.steps for setup in laid.setups)
    ints = replace(study, sweeps=(Sweep({"user.tradeoff": (0, 0.5)}), STUDY.sweeps[1]))
    assert plan(ints, laid.data).setups == plan(study, laid.data).setups


def test_chunks_cover_all_runs_once_and_depend_on_the_study_alone() -> None:
    user = {"attraction": [0.5, 0.1]}
    (setup,) = plan(Study("s", user, ("CascadeUCB1",), k=1, users=7, repeats=3, steps=50_000)).setups
    chunks = setup.chunks
    assert [(chunk.first, chunk.last) for chunk in chunks] == [(0, 5), (5, 10), (10, 15), (15, 20), (20, 21)]
    assert len({chunk.key for chunk in chunks}) == 5
    assert sum(chunk.steps for chunk in chunks) == 21 * 50_000
    whole = plan(Study("s", user, ("CascadeUCB1",), k=1, users=500, repeats=2, steps=50_000))
    assert len(whole.chunks) == 200  # work for as many workers


def test_more_than_there_is_becomes_all_there_is_and_a_note(laid: Plan) -> None:
    asked = plan(replace(STUDY, users=10_000, sweeps=(Sweep({"user.topics": (90, 3)}),)), laid.data)
    (prepared,) = laid.data.values()
    topics = prepared.n_topics
    assert {setup.user["topics"] for setup in asked.setups} == {topics, 3}
    assert {setup.users for setup in asked.setups} == {len(prepared.user_ids)}
    assert f"90 topics asked for, {topics} there are: all are taken" in asked.notes
    assert any(note.startswith("10000 test users asked for") for note in asked.notes)
    assert laid.notes == ()


def test_perfect_coverage_is_another_setup(laid: Plan) -> None:
    perfect = plan(replace(STUDY, user={**STUDY.user, "perfect_coverage": True}), laid.data)
    assert not {chunk.key for chunk in perfect.chunks} & {chunk.key for chunk in laid.chunks}


def test_what_runs_as_one_compiled_loop(laid: Plan) -> None:
    assert laid.compiled == set(laid.setups)
    user = {"generate": {"items": 9}}
    cases = (Case("CascadeHybrid", user={"clicks": "document_based"}), Case("CascadeHybrid", "plain"))
    forgets = Case("CascadeHybrid", "forgets", settings={"forgetting": {"window": 5}})
    mixed = plan(Study("s", user, ("CascadeUCB1",), (*cases, forgets), k=3))
    assert [setup in mixed.compiled for setup in mixed.setups] == [True, False, True, False]


@pytest.mark.parametrize(
    ("study", "error", "said"),
    [
        (replace(STUDY, k=61, sweeps=()), ProblemError, "CascadeHybrid: k is 61 and there are 60 items"),
        (
            Study("s", {"generate": {"items": 9, "topics": 2, "features": 0}}, ("CascadeUCB1", "PDGD"), k=3),
            CatalogError,
            "PDGD: PDGD needs relevance",
        ),
        (Study("s", {"attraction": [2.0]}, ("CascadeUCB1",), k=1), ProblemError, "CascadeUCB1: alpha holds 2"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(study: Study, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        plan(study)


def test_a_study_that_knows_its_data_refuses_other_data(tmp_path: Path) -> None:
    study = Study("s", {"dataset": "movielens-small", "preparation": SMALL, "topics": 5}, ("CascadeLSB",), k=2, users=2)
    laid = plan(study)
    known = laid.known_data
    (prepared,) = laid.data.values()
    assert known.data == (prepared.fingerprint,)
    assert plan(known).rows == laid.rows
    with pytest.raises(ProblemError, match=f"ran on data with the fingerprints 00, and this is {prepared.fingerprint}"):
        plan(replace(study, data=("00",)))
    prepared.save(tmp_path / "saved.npz")
    file = {"dataset": str(tmp_path / "saved.npz"), "topics": 5}
    same = plan(replace(known, user=file))  # the same data, from a file that was prepared before
    assert same.setups[0].world(1, 0, same.data)[0] == laid.setups[0].world(1, 0, laid.data)[0]
    with pytest.raises(ProblemError, match="is prepared already; leave preparation out"):
        plan(replace(study, user={**file, "preparation": SMALL}))


def test_a_study_on_tables_of_ones_own(tmp_path: Path) -> None:
    rows = "".join(f"{user},p{item},{5 if (user + item) % 3 else 2}\n" for user in range(12) for item in range(8))
    (tmp_path / "r.csv").write_text("user,product,rating\n" + rows)
    topics = "".join(f"p{i},{'red' if i % 2 else 'blue'}\n" for i in range(8))
    (tmp_path / "i.csv").write_text("product,topics\n" + topics)
    (tmp_path / "study.toml").write_text(
        'name = "mine"\npolicies = ["CascadeLSB"]\nk = 2\nusers = 2\n[user]\ndataset = "r.csv"\n'
        'items_table = "i.csv"\ncolumns = { item = "product" }\npreparation = { rank = 2 }\n'
    )
    laid = plan(Study.read(tmp_path / "study.toml"))
    catalog, _ = laid.setups[0].world(0, 0, laid.data)
    assert catalog.ids == tuple(f"p{i}" for i in range(8))
    assert set(catalog.topics) == {"red", "blue"}
    words = {"dataset": "movielens-small", "columns": {"item": "product"}}
    with pytest.raises(ProblemError, match="name the other one as items_table"):
        plan(Study("s", words, ("CascadeLSB",)))
