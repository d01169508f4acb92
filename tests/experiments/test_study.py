"""Studies as data."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfall import POLICIES, CascadeHybrid, CascadeUCB1, Discount, FileError, ProblemError, Window
from rankfall.experiments import Case, Published, Study, Sweep

line = st.text(min_size=1).filter(lambda text: text.strip() and text.isprintable())
count = st.integers(1, 10**9)
USER = {"attraction": [0.5, 0.2, 0.1]}


@settings(max_examples=30)
@given(
    line,
    st.text(),
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    count,
    st.booleans(),
    st.lists(st.sampled_from(list(POLICIES)), min_size=1, max_size=6, unique=True),
)
def test_a_study_survives_its_file_exactly(
    text: str, note: str, tradeoff: float, value: float, n: int, flag: bool, policies: list[str]
) -> None:
    study = Study(
        text,
        {"dataset": text, "tradeoff": tradeoff, "preparation": {"users": n, "unit_preferences": flag}},
        tuple(policies),
        cases=(
            Case("CascadeHybrid", text + "!", 3, {"gamma": abs(value)}, {"topics": n}, Published(value, "clicks", 1.5)),
            Case("CascadeHybrid", text + "?", settings={"forgetting": Window(n)}),
        ),
        sweeps=(
            Sweep({"user.tradeoff": (0.0, tradeoff + 1e-3), "k": (n, n + 1)}, text, together=flag),
            Sweep({"settings.gamma": (0.5, 1.0)}),
        ),
        settings={"gamma": 2.0},
        users=n,
        steps=n,
        seed=n,
        log_checkpoints=n,
        reference=policies[0],
        note=note.replace("\r", ""),
        paper=flag,
    )
    assert Study.from_toml(study.to_toml()) == study


def test_what_a_file_leaves_out_has_its_default() -> None:
    text = 'name = "a"\npolicies = ["CascadeUCB1"]\nuser.attraction = [0.5, 0.2, 0.1]'
    assert Study.from_toml(text) == Study("a", USER, ("CascadeUCB1",))
    assert Study.from_toml(text.replace('["CascadeUCB1"]', '"all"')).policies == tuple(POLICIES)


def test_policies_and_settings_may_be_given_as_objects() -> None:
    user = {"generate": {"items": 9}}
    given = Study("a", user, (CascadeHybrid, CascadeUCB1), settings={"forgetting": Discount(0.9)})  # type: ignore[arg-type]
    assert given == Study("a", user, ("CascadeHybrid", "CascadeUCB1"), settings={"forgetting": {"discount": 0.9}})
    with pytest.raises(ProblemError, match="a policy is given by its name or class, got 5"):
        Case(5)  # type: ignore[arg-type]


GOOD = 'name = "a"\npolicies = ["CascadeHybrid", "CascadeUCB1"]\n'
USERS = "[user]\ngenerate = { items = 12 }\n"
SWEEP = "[[sweep]]\nuser.tradeoff = [0.1, 0.9]\n"
CASE = '[[case]]\npolicy = "CascadeLSB"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "not TOML"),
        ("[user]\n", "a study needs 'name'"),
        ('name = "a"\n' + USERS, "a study needs policies, or cases of their own"),
        (GOOD, "the user needs one of dataset, generate, sphere, fitted, intents, attraction; got nothing"),
        (GOOD + "step = 5\n" + USERS, "a study has no 'step'; it has name, user, policies, case, sweep, k"),
        (GOOD + "steps = 0\n" + USERS, "steps must be a whole number from 1 on, got 0"),
        (GOOD + "steps = 1.5\n" + USERS, "steps must be a whole number"),
        (GOOD + "paper = 1\n" + USERS, "paper must be true or false"),
        (GOOD.replace("Hybrid", "Hybird") + USERS, "no policy 'CascadeHybird'; choose from BatchRank, Bub"),
        ('name = "a"\npolicies = "CascadeHybrid"\n' + USERS, "policies must be a list"),
        ('name = "a"\npolicies = [1]\n' + USERS, "a policy is given by its name or class, got 1"),
        (GOOD.replace("UCB1", "Hybrid") + USERS, "policies holds 'CascadeHybrid' twice"),
        (GOOD + 'reference = "BatchRank"\n' + USERS, "the reference 'BatchRank' is no case; choose from CascadeHybrid"),
        (GOOD + "settings = 5\n" + USERS, "settings must be a table, got 5"),
        (GOOD + "settings = { mood = 1 }\n" + USERS, "no policy of the study has a setting 'mood'"),
        (
            GOOD + USERS + CASE + "settings = { mood = 1 }\n",
            "CascadeLSB has no setting 'mood'; it has context, context_variance, feedback",
        ),
        (GOOD + USERS + CASE + CASE + "k = 1\n", "two cases are called 'CascadeLSB'"),
        (GOOD + USERS + CASE + "color = 1\n", "a case has no 'color'; it has policy, label, k, settings"),
        (GOOD + USERS + CASE + "published = { value = 1.0, what = 'luck' }\n", "what must be regret or clicks"),
        (GOOD + USERS + "[[case]]\nlabel = 'x'\n", "a case needs 'policy'"),
        (GOOD + USERS + "[case]\nlabel = 'x'\n", "case must be a list of tables, each under [[case]]"),
        (GOOD + USERS + "[[sweep]]\n", "a sweep needs at least one axis"),
        (GOOD + USERS + "[[sweep]]\nk = 5\n", "the axis k needs a list of values, got 5"),
        (GOOD + USERS + "[[sweep]]\nk = [5, 5]\n", "the axis k has 5 twice"),
        (GOOD + USERS + "[[sweep]]\nsteps = [5, 6]\n", "'steps' cannot be swept; an axis is k, settings.NAME or user."),
        (GOOD + USERS + SWEEP + "k = [1]\ntogether = true\n", "need lists of one length, got [1, 2]"),
        (GOOD + USERS + SWEEP + SWEEP + "k = [1, 2]\nname = 'tradeoff'\n", "two sweeps are called 'tradeoff'"),
        (
            GOOD + USERS + "mood = 1\n",
            "CascadeHybrid: a user has no 'mood'; it has arrivals, attraction, catalog, clicks",
        ),
        (GOOD + USERS + "topics = 1\n", "a user with 'generate' takes no 'topics'"),
        ('name = "a\\nb"\n' + USERS, "name must be a line of text"),
    ],
)
def test_nonsense_in_a_file_is_answered_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ProblemError) as caught:
        Study.read(tmp_path / "study.toml")
    assert said in str(caught.value)
    assert "study.toml: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "a"\ndataset = "b"\n[[grid]]\nstudy = "c"\nvalue = 1\n', "write it under [user]: dataset"),
        ('name = "a"\nruns = 10\npolicies = ["CascadeUCB1"]\n', "write users = 1 and repeats = as many as runs"),
        ('name = "a"\nsettings = { CascadeUCB1 = { exploration = 1.0 } }\n', "settings.CascadeUCB1 names a policy"),
    ],
)
def test_a_study_of_version_0_1_0_is_told_what_to_change(text: str, said: str) -> None:
    with pytest.raises(ProblemError, match=r"see docs/studies\.md") as caught:
        Study.from_toml(text)
    assert said in str(caught.value)


def test_a_study_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        Study.read(tmp_path / "nothing.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="cannot read"):
        Study.read(tmp_path / "bytes.toml")


def test_files_are_found_from_the_folder_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'name = "a"\npolicies = ["CascadeUCB1"]\n[user]\nfitted = "m.parquet"\ncatalog = "items.parquet"\n'
        'drift = [{ from = 5, fitted = "n.parquet" }]\n[[sweep]]\nuser.catalog = ["items.parquet", "more.parquet"]\n'
    )
    study = Study.read(tmp_path / "study.toml")
    assert study.user["fitted"] == str(tmp_path / "m.parquet")
    assert study.user["drift"][0]["fitted"] == str(tmp_path / "n.parquet")
    assert study.sweeps[0].axes["user.catalog"][1] == str(tmp_path / "more.parquet")
    (tmp_path / "again.toml").write_text(study.to_toml())
    assert Study.read(tmp_path / "again.toml") == study
    (tmp_path / "named.toml").write_text(
        'name = "a"\npolicies = ["CascadeUCB1"]\n[user]\ndataset = "movielens-small"\n'
        '[[sweep]]\nuser = [{ tradeoff = 0.1 }, { dataset = "mine" }]\n'
    )
    named = Study.read(tmp_path / "named.toml")
    assert named.user["dataset"] == "movielens-small"
    assert named.sweeps[0].axes["user"][1]["dataset"] == str(tmp_path / "mine")


def test_the_example_in_the_docs_is_a_study() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    for example in page.split("```toml\n")[1:]:
        Study.from_toml(example.partition("```")[0])
