"""Two studies of a second: one on a data set, compiled, and one on users of many kinds, in plain Python."""

from rankfall.experiments import Case, Study, Sweep

SMALL = {"users": 100, "items": 60, "threshold": 4.0, "rank": 3}
ON_DATA = Study(
    "on a data set",
    {"dataset": "movielens-small", "preparation": SMALL, "topics": 5, "tradeoff": 0.5},
    ("CascadeHybrid", "CascadeLSB"),
    sweeps=(
        Sweep({"user.tradeoff": (0.0, 0.5)}),
        Sweep({"k": (4, 3)}, "positions"),
    ),
    k=4,
    users=3,
    repeats=2,
    steps=60,
    checkpoints=4,
)
OF_MANY_KINDS = Study(
    "users of many kinds",
    {"attraction": [0.6, 0.5, 0.2, 0.2, 0.1, 0.1]},
    ("CascadeUCB1", "CascadeKLUCB"),
    cases=(
        Case(
            "TopRank",
            "TopRank, position-based",
            user={"clicks": "position_based", "examination": [1.0, 0.5], "reward": "clicks"},
        ),
        Case("CascadeSWUCB", user={"drift": [{"from": 30, "attraction": [0.1, 0.1, 0.2, 0.2, 0.5, 0.6]}]}),
        Case("RankedUCB1", user={"attraction": "linear", "generate": {"items": 8, "topics": 0, "seed": [1, 2, 3]}}),
    ),
    k=2,
    users=1,
    repeats=3,
    steps=60,
    checkpoints=4,
    log_checkpoints=5,
)
STUDIES = {"data": ON_DATA, "kinds": OF_MANY_KINDS}
