from rankfall.experiments import Case, Study, Sweep
from rankfall.experiments.expansion import axis_columns, expand

USER = {"generate": {"items": 20, "seed": 1}, "tradeoff": 0.5}


def test_every_case_at_every_point_of_every_sweep() -> None:
    study = Study(
        "a",
        USER,
        ("CascadeHybrid", "CascadeUCB1"),
        sweeps=(
            Sweep({"user.tradeoff": [0.2, 0.5]}),
            Sweep({"k": [3, 4], "settings.gamma": [0.5, 1.0]}, "both", together=True),
            Sweep({"k": [3, 4], "user.generate.items": [10, 20]}, "product"),
        ),
        k=4,
        settings={"gamma": 1.0},
    )
    entries = expand(study)
    assert len(entries) == 2 * (2 + 2 + 4)
    assert [(e.sweep, e.point, e.case.label) for e in entries[:5]] == [
        ("tradeoff", 0, "CascadeHybrid"),
        ("tradeoff", 0, "CascadeUCB1"),
        ("tradeoff", 1, "CascadeHybrid"),
        ("tradeoff", 1, "CascadeUCB1"),
        ("both", 0, "CascadeHybrid"),
    ]
    first, other = entries[:2]
    assert first.case.settings == {"gamma": 1.0}
    assert other.case.settings == {}  # CascadeUCB1 has no gamma, so what is said for all does not concern it
    assert first.values == {"tradeoff": 0.2, "k": 4, "gamma": 1.0, "items": 20}
    assert other.values == {"tradeoff": 0.2, "k": 4, "items": 20}
    product = [entry for entry in entries if entry.sweep == "product"]
    assert [(e.case.k, e.case.user["generate"]["items"]) for e in product[::2]] == [(3, 10), (3, 20), (4, 10), (4, 20)]
    assert product[0].case.user["generate"]["seed"] == 1


def test_a_case_has_what_it_says_and_what_is_said_for_all() -> None:
    study = Study(
        "a",
        USER,
        cases=(
            Case(
                "CascadeHybridEpsilon",
                "mine",
                2,
                {"epsilon": 0.2},
                {"generate": {"items": 9}, "clicks": "document_based"},
            ),
            Case("CascadeHybrid", settings={"gamma": 3.0}),
        ),
        settings={"gamma": 2.0},
    )
    mine, plain = (entry.case for entry in expand(study))
    assert (mine.k, mine.settings) == (2, {"gamma": 2.0, "epsilon": 0.2})
    assert mine.user["generate"] == {"items": 9, "seed": 1}
    assert (plain.label, plain.k, plain.settings) == ("CascadeHybrid", 10, {"gamma": 3.0})


def test_axes_that_would_share_a_column_keep_their_path() -> None:
    sweeps = (Sweep({"user.clicks": ["cascade"]}), Sweep({"user.generate.seed": [1, 2]}), Sweep({"k": [1]}))
    study = Study("a", USER, ("CascadeUCB1",), sweeps=sweeps)
    assert list(axis_columns(study).values()) == ["user.clicks", "seed", "k"]


def test_an_axis_of_whole_users() -> None:
    kinds = [{"clicks": "cascade"}, {"clicks": "document_based", "reward": "clicks"}]
    study = Study("a", USER, ("CascadeUCB1",), sweeps=(Sweep({"user": kinds}, "clicks"), Sweep({"k": [1]})))
    assert axis_columns(study) == {"user": "words", "k": "k"}
    first, second, other = expand(study)
    assert second.case.user["reward"] == "clicks"
    assert first.values == {"words": {"clicks": "cascade"}, "k": 10}
    assert other.values == {"k": 1}
