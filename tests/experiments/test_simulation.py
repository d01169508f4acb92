import signal
import subprocess
import sys

import numpy as np
import pytest
from waiting import PATIENCE

from rankfall import (
    POLICIES,
    CascadeHybrid,
    CascadeLSB,
    CascadeUser,
    Discount,
    ProblemError,
    Ranking,
    Run,
    Window,
    generate,
    simulate,
    simulate_many,
)
from rankfall.experiments.paper import PAPER
from rankfall.experiments.simulation import default_checkpoints, run_seed, streams

WORLD = generate(items=40, topics=6, features=4, users=3, seed=3)
CATALOG = WORLD.catalog


def user(index: int = 0, tradeoff: float = 0.5) -> CascadeUser:
    return CascadeUser(CATALOG.coverage, CATALOG.relevance, WORLD.theta[index], WORLD.beta[index], tradeoff)


@pytest.mark.parametrize("name", list(PAPER))
def test_the_same_seed_gives_the_same_run_to_the_bit(name: str) -> None:
    first, again, other = (simulate(POLICIES[name](CATALOG), user(), 300, 5, seed=seed) for seed in (7, 7, 8))
    assert first.regret.tobytes() == again.regret.tobytes()
    assert first.clicks.tobytes() == again.clicks.tobytes()
    assert first.regret.tobytes() != other.regret.tobytes()


def test_regret_and_clicks_are_those_of_the_eight_line_loop() -> None:
    run = simulate(CascadeHybrid(CATALOG), user(), 200, 5, seed=11, checkpoints=[1, 50, 200])
    policy, person, regret, clicks = CascadeHybrid(CATALOG), user(), [], []
    for coins in streams(11)[0].random((200, 5)):
        ranking = policy.rank(5)
        click = person.click(ranking.items, coins)
        policy.update(ranking, click)
        regret.append(person.reward(person.best(5)) - person.reward(ranking.items))
        clicks.append(click is not None)
    assert run.steps.tolist() == [1, 50, 200]
    np.testing.assert_allclose(run.regret, np.cumsum(regret)[[0, 49, 199]], rtol=1e-12)
    assert run.clicks.tolist() == np.cumsum(clicks)[[0, 49, 199]].tolist()
    assert run.best == person.reward(person.best(5))


@pytest.mark.parametrize("forgetting", [Discount(0.95), Window(30)], ids=repr)
def test_a_policy_that_forgets_forgets_in_a_simulation_too(forgetting: Discount | Window) -> None:
    simulated, by_hand, person = (*(CascadeHybrid(CATALOG, forgetting=forgetting) for _ in range(2)), user())
    simulate(simulated, person, 120, 5, seed=11)
    for coins in streams(11)[0].random((120, 5)):
        ranking = by_hand.rank(5)
        by_hand.update(ranking, person.click(ranking.items, coins))
    assert simulated.n_updates == 120
    assert simulated.weights.tobytes() == by_hand.weights.tobytes()
    assert simulated.covariance.tobytes() == by_hand.covariance.tobytes()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_policies_that_forget_follow_a_user_who_changes(seed: int) -> None:
    """The relevance this user liked is what it comes to dislike."""
    world = generate(items=60, topics=6, features=4, users=2, seed=seed, appeal=0.4)
    before, after = (
        CascadeUser(world.catalog.coverage, world.catalog.relevance, theta, sign * world.beta[0], 0.6)
        for theta, sign in zip(world.theta, (1, -1), strict=True)
    )
    regret = []
    for forgetting in (None, Discount(0.99), Window(200)):
        policy = CascadeHybrid(world.catalog, forgetting=forgetting)
        simulate(policy, before, 1000, 5, seed=1)
        regret.append(simulate(policy, after, 1000, 5, seed=2).regret[-1])
    plain, discounted, windowed = regret
    assert discounted < plain / 2
    assert windowed < plain / 2


def test_checkpoints_do_not_change_what_happens() -> None:
    coarse = simulate(CascadeLSB(CATALOG), user(), 2500, 3, seed=1, checkpoints=[2500])
    fine = simulate(CascadeLSB(CATALOG), user(), 2500, 3, seed=1)
    assert coarse.regret[-1] == fine.regret[-1]
    assert len(fine.steps) == 100
    assert fine.steps[-1] == 2500


class Recorder(CascadeUser):
    """Writes down the coins it is given."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.coins: list[list[float]] = []

    def click(self, items: object, coins: object) -> int | None:
        self.coins.append(list(coins))  # type: ignore[call-overload]
        return super().click(items, coins)  # type: ignore[arg-type]


def test_policies_with_the_same_seed_see_the_same_coins() -> None:
    seen = []
    for name in ("CascadeHybrid", "CascadeLinUCB"):
        person = Recorder(CATALOG.coverage, CATALOG.relevance, WORLD.theta[0], WORLD.beta[0], 0.5)
        simulate(POLICIES[name](CATALOG), person, 50, 4, seed=2)
        seen.append(person.coins)
    assert seen[0] == seen[1]


def test_a_seed_sequence_may_be_used_twice() -> None:
    sequence = np.random.SeedSequence(5, spawn_key=(3,))
    runs = [simulate(CascadeLSB(CATALOG), user(), 50, 3, seed=sequence) for _ in range(2)]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert runs[0].regret.tobytes() != simulate(CascadeLSB(CATALOG), user(), 50, 3, seed=5).regret.tobytes()


class Oracle:
    """Any object that keeps the contract will do."""

    n_items = len(CATALOG)

    def rank(self, k: int, **options: object) -> Ranking:
        return Ranking(user().best(k))

    def update(self, ranking: Ranking, click: object) -> None:
        pass


def test_the_oracle_has_no_regret() -> None:
    run = simulate(Oracle(), user(), 100, 5)
    assert run.regret.tolist() == [0.0] * 100
    assert 0 < run.clicks[-1] < 100


def test_progress_adds_up() -> None:
    done: list[int] = []
    simulate(Oracle(), user(), 2500, 5, progress=done.append)
    assert sum(done) == 2500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be a whole number from 1 on, got 0"),
        ({"steps": 1.5}, "got 1.5"),
        ({"k": 0}, "k must be a whole number from 1 to 40, got 0"),
        ({"k": 41}, "got 41"),
        ({"seed": -1}, "seed must be a whole number from 0 on, got -1"),
        ({"seed": "x"}, "got 'x'"),
        ({"checkpoints": [0, 5]}, "a checkpoint must be a whole number from 1 to 10, got 0"),
        ({"checkpoints": [11]}, "a checkpoint must be a whole number from 1 to 10, got 11"),
        ({"checkpoints": []}, "checkpoints must be steps from 1 to 10, got none"),
        ({"user": CascadeUser([[0.5]], [[0.5]], [0.5], [0.5])}, "ranks 40 items and the user knows 1"),
        ({"policy": CascadeHybrid}, r"policy must be a policy, such as CascadeHybrid\(catalog\), got <class"),
        ({"policy": user()}, "policy must be a policy"),
        ({"user": CascadeHybrid(CATALOG)}, r"user must be an environment, .* got CascadeHybrid\("),
    ],
)
def test_an_experiment_that_makes_no_sense(options: dict[str, object], message: str) -> None:
    given = {"policy": CascadeHybrid(CATALOG), "user": user(), "steps": 10, "k": 3}
    with pytest.raises(ProblemError, match=message):
        simulate(**{**given, **options})  # type: ignore[arg-type]


def test_default_checkpoints_end_at_the_last_step() -> None:
    for steps in (1, 7, 99, 100, 101, 12345):
        marks = default_checkpoints(steps)
        assert marks[-1] == steps
        assert marks[0] >= 1
        assert (np.diff(marks) > 0).all()
        assert len(marks) <= 100


def test_hybrid_learns_what_the_others_cannot() -> None:
    """At tradeoff 0.5 relevance alone and coverage alone both miss half of the user."""
    final = {
        name: np.mean([simulate(recipe(CATALOG), user(i), 3000, 5, seed=i).regret[-1] for i in range(3)])
        for name, recipe in ((name, POLICIES[name]) for name in PAPER)
    }
    assert min(final, key=final.__getitem__) == "CascadeHybrid"


def together(runs: list[Run]) -> bytes:
    return b"".join(run.regret.tobytes() + run.clicks.tobytes() for run in runs)


def test_many_runs_do_not_depend_on_the_number_of_workers() -> None:
    users = [user(i) for i in range(3)]
    policy = CascadeHybrid(CATALOG)
    one, two, five = (simulate_many(policy, users, 400, 5, repeats=2, seed=6, workers=n) for n in (1, 2, 5))
    assert len(one) == 6
    assert together(one) == together(two) == together(five)
    assert policy.n_updates == 0
    alone = simulate(CascadeHybrid(CATALOG), users[2], 400, 5, seed=np.random.SeedSequence(6, spawn_key=(2, 1)))
    assert one[5].regret.tobytes() == alone.regret.tobytes()
    assert one[4].regret.tobytes() != alone.regret.tobytes()


def test_a_part_of_an_experiment_gives_the_runs_of_the_whole() -> None:
    users = [user(i) for i in range(3)]
    policy = CascadeHybrid(CATALOG)
    every = simulate_many(policy, users, 100, 5, repeats=2, seed=6)
    assert together(simulate_many(policy, users[1:], 100, 5, repeats=2, seed=6, first_user=1)) == together(every[2:])
    second = simulate_many(policy, users, 100, 5, seed=6, first_repeat=1)
    assert together(second) == together(every[1::2])
    alone = simulate(CascadeHybrid(CATALOG), users[2], 100, 5, run_seed(6, 2, 1))
    assert together([alone]) == together(every[5:])


def test_many_runs_of_any_policy() -> None:
    runs = simulate_many(Oracle(), [user(), user()], 50, 5, workers=2, checkpoints=[50])
    assert [run.regret.tolist() for run in runs] == [[0.0], [0.0]]


def test_many_runs_keep_checkpoints_only() -> None:
    runs = simulate_many(CascadeLSB(CATALOG), [user()], 5000, 5, checkpoints=iter([10, 5000]))
    assert [run.steps.tolist() for run in runs] == [[10, 5000]]


def test_many_runs_report_progress_and_stop_at_the_first_error() -> None:
    done: list[int] = []
    simulate_many(CascadeLSB(CATALOG), [user()] * 4, 300, 5, progress=done.append)
    assert sum(done) == 4 * 300
    with pytest.raises(ProblemError, match="ranks 40 items and the user knows 1"):
        simulate_many(CascadeLSB(CATALOG), [user(), CascadeUser([[0.5]], [[0.5]], [0.5], [0.5])], 300, 5)
    for option in ({"workers": 0}, {"repeats": 0}, {"seed": -1}, {"first_user": -1}, {"first_repeat": -1}):
        with pytest.raises(ProblemError, match="must be a whole number"):
            simulate_many(CascadeLSB(CATALOG), [user()], 300, 5, **option)


@pytest.mark.stress
def test_ctrl_c_is_answered_at_once() -> None:
    """It does not wait for the end, which would take days."""
    script = """
import rankfall as rf, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started us may have had it ignored
world = rf.generate(users=1)
user = rf.CascadeUser(world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0])
begun = []

def progress(steps):
    if not begun:
        begun.append(steps)
        print("begun", flush=True)

try:
    rf.simulate_many(rf.CascadeLSB(world.catalog), [user] * 8, 2_000_000_000, 5, progress=progress)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "stopped\n"
    assert process.returncode == 0
