"""Who is compared next, against plain forms of the algorithms; and bounds that hold at all times."""

import math

import numpy as np
import pytest

from rankfall.compare import DoubleThompson, Duels, MergeDTS, Method, SelfSparring, Together, UniformPairs
from rankfall.compare.duels import radius
from rankfall.errors import ProblemError

METHODS = [
    MergeDTS(),
    MergeDTS(batch=3, alpha=0.3, c=100.0),
    DoubleThompson(),
    SelfSparring(),
    UniformPairs(),
    Together(),
]


def strengths(n: int, seed: int = 0) -> np.ndarray:
    """Preferences in which ranker 2 is preferred to every other one."""
    worth = np.random.default_rng(seed).normal(size=n)
    worth[2] = worth.max() + 1.0
    return 1.0 / (1.0 + np.exp(worth[None, :] - worth[:, None]))


def play(duels: Duels, preferences: np.ndarray, steps: int, seed: int = 0) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    chosen = []
    for _ in range(steps):
        pair = duels.choose(rng)
        chosen.append(pair)
        if len(pair) == 2:
            duels.learn({pair: float(rng.random() < preferences[pair])})
        elif len(pair) > 2:
            duels.learn({(a, b): float(rng.random() < preferences[a, b]) for a in pair for b in pair if a < b})
    return chosen


class PlainMerge:
    """MergeDTS with lists of lists, written from the lines of its docstring; it follows the wins it is given."""

    def __init__(self, n: int, method: MergeDTS) -> None:
        self.n, self.method = n, method
        order = np.random.default_rng([method.seed, 0]).permutation(n).tolist()
        self.batches = [order[i : i + method.batch] for i in range(0, n, method.batch)]
        self.stage, self.t = 1, 0
        self.turn = self._joined(0)

    def _joined(self, turn: int) -> int:
        while len(self.batches) > 1 and len(self.batches[turn]) == 1:
            single = self.batches.pop(turn)
            turn %= len(self.batches)  # the next one, which has moved up, or the first
            self.batches[turn] += single
        return turn

    def compared(self, wins: np.ndarray) -> None:
        self.t += 1
        m, alpha = self.method.batch, self.method.alpha
        if sum(map(len, self.batches)) <= self.n // 2**self.stage + 1 and len(self.batches) > 1:
            rng = np.random.default_rng([self.method.seed, self.stage])
            self._merge(rng)
            if min(map(len, self.batches)) <= m / 2:
                self._merge(rng)
            self.stage, self.t = self.stage + 1, 0
        self.turn = self._joined(self.t % len(self.batches))
        while True:
            batch = sorted(self.batches[self.turn])
            c = self.method.constant(self.n)

            def upper(i: int, j: int, c: float = c) -> float:
                n = wins[i, j] + wins[j, i] + 2
                return (wins[i, j] + 1) / n + math.sqrt(alpha * math.log(c + 1 + self.t) / n)

            losses = {i: sum(upper(i, j) < 0.5 for j in batch if j != i) for i in batch}
            worst = max(batch, key=lambda i: losses[i])
            if not losses[worst]:
                return
            self.batches[self.turn].remove(worst)
            self.turn = self._joined(self.turn)

    def _merge(self, rng: np.random.Generator) -> None:
        shuffled = [self.batches[i] for i in rng.permutation(len(self.batches))]
        waiting = sorted(shuffled, key=len)
        self.batches = []
        while waiting:
            large = waiting.pop()
            if waiting and len(waiting[0]) + len(large) <= 1.5 * self.method.batch:
                large = large + waiting.pop(0)
            self.batches.append(large)


@pytest.mark.parametrize(
    ("n", "method"),
    [
        (20, MergeDTS(alpha=0.3, c=10.0)),
        (17, MergeDTS(batch=4, alpha=0.3, c=10.0, seed=3)),
        (33, MergeDTS(batch=8, alpha=0.262, c=100.0)),
        (5, MergeDTS()),
    ],
    ids=str,
)
def test_merge_dts_keeps_the_batches_of_the_plain_form(n: int, method: MergeDTS) -> None:
    duels, plain = Duels(n, method), PlainMerge(n, method)
    preferences, rng = strengths(n), np.random.default_rng(1)
    seen = set()
    for _ in range(4000):
        pair = duels.choose(rng)
        if len(pair) == 1:
            break
        assert set(pair) <= set(plain.batches[plain.turn])
        duels.learn({pair: float(rng.random() < preferences[pair])})  # type: ignore[dict-item]
        plain.compared(duels.wins)
        batch = duels.arrays["batch"]
        ours = {tuple(np.flatnonzero(batch == number)) for number in range(batch.max() + 1)}
        assert ours == {tuple(sorted(each)) for each in plain.batches}
        assert sorted(plain.batches[plain.turn]) == np.flatnonzero(batch == duels.arrays["turn"]).tolist()
        assert int(duels.arrays["stage"]) == plain.stage
        seen.add((plain.stage, len(plain.batches)))
    assert n == 5 or len(seen) > 3  # batches were merged, and several stages passed


def test_merge_dts_finds_the_best_and_then_shows_it_alone() -> None:
    duels = Duels(30, MergeDTS(alpha=0.3, c=100.0))
    chosen = play(duels, strengths(30), 5000)
    assert chosen[-1] == (2,)
    assert duels.left(0.05).tolist() == [ranker == 2 for ranker in range(30)]


def test_the_constant_of_merge_dts() -> None:
    assert MergeDTS(alpha=1.0, epsilon=0.01).constant(10) == pytest.approx(3 * 100 / 0.01)
    assert MergeDTS(alpha=0.3, c=7.0).constant(10) == 7.0
    with pytest.raises(ProblemError, match="alpha must be above"):
        MergeDTS(alpha=0.3)


def test_double_thompson_chooses_as_the_algorithm_says() -> None:
    method, rng = DoubleThompson(alpha=0.51), np.random.default_rng(0)
    duels = Duels(4, method)
    duels.wins[0] = [0, 500, 500, 260]
    duels.wins[3] = [240, 400, 300, 0]
    duels.wins[1] = [0, 0, 20, 100]
    duels.wins[2] = [0, 20, 0, 100]
    duels.n_updates = 2000
    n = duels.wins + duels.wins.T + 2
    width = np.sqrt(0.51 * np.log(2001) / n)
    upper = (duels.wins + 1) / n + width
    hopes = [sum(upper[i, j] > 0.5 for j in range(4) if j != i) for i in range(4)]
    assert hopes == [3, 1, 1, 3]  # 0 and 3 are candidates
    pairs = [method.choose(duels, rng) for _ in range(4000)]
    assert {pair[0] for pair in pairs} == {0, 3}
    # against 0 only 3 may stand (1 and 2 lost for sure), or 0 itself if theta_30 < 1/2; and the other way round
    assert set(pairs) == {(0,), (0, 3), (3,), (3, 0)}
    beats = np.random.default_rng(1).beta(261, 241, size=(2, 200_000)) > 0.5
    first_is_0 = np.mean(beats[0])  # 0 has 3 wins then, else 3 has them
    second = np.mean(beats[1])  # 0 stands alone if 3 draws less than 1/2
    expected = {(0,): first_is_0 * second, (0, 3): first_is_0 * (1 - second), (3, 0): (1 - first_is_0) * second}
    for pair, chance in expected.items():
        assert pairs.count(pair) / 4000 == pytest.approx(chance, abs=5 * math.sqrt(0.25 / 4000))


def test_the_plain_methods() -> None:
    rng = np.random.default_rng(0)
    pairs = [UniformPairs().choose(Duels(3, UniformPairs()), rng) for _ in range(3000)]
    for pair in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
        assert abs(pairs.count(pair) - 500) < 5 * math.sqrt(3000 * 5 / 36)
    assert Together().choose(Duels(3, Together()), rng) == (0, 1, 2)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_choosing_changes_nothing_and_the_state_goes_on_bit_for_bit(method: Method) -> None:
    duels = Duels(9, method)
    play(duels, strengths(9), 300)
    before = {name: array.tobytes() for name, array in duels.state().items()}
    assert len({duels.choose(np.random.default_rng(5)) for _ in range(3)}) == 1
    assert before == {name: array.tobytes() for name, array in duels.state().items()}
    twin = Duels(9, method)
    twin.restore(duels.state())
    assert play(twin, strengths(9), 200, seed=7) == play(duels, strengths(9), 200, seed=7)
    assert {name: array.tobytes() for name, array in twin.state().items()} == {
        name: array.tobytes() for name, array in duels.state().items()
    }


def test_ties_say_nothing() -> None:
    duels = Duels(3, MergeDTS())
    duels.learn({(0, 1): 0.5, (0, 2): np.nextafter(0.5, 1.0)})  # the latter by rounding
    assert duels.n_updates == 0
    duels.learn({(0, 1): 0.75, (1, 2): 0.5})
    assert duels.wins.tolist() == [[0, 0.75, 0], [0.25, 0, 0], [0, 0, 0]]


def test_the_bound_holds_at_all_times_at_once() -> None:
    rng, runs, error = np.random.default_rng(0), 2000, 0.2
    for chance in (0.5, 0.9):
        n = np.arange(1.0, 1501.0)
        means = np.cumsum(rng.random((runs, 1500)) < chance, axis=1) / n
        crossed = (np.abs(means - chance) >= radius(n, error)).any(axis=1).mean()
        assert crossed < error
    slight = radius(np.array([400.0]), error)[0]
    assert slight < 2.5 * math.sqrt(math.log(2 / error) / 800)  # Hoeffding's for one n known before


def test_nobody_is_out_before_anything_was_seen_and_the_beaten_are_afterwards() -> None:
    duels = Duels(3, UniformPairs())
    assert duels.left(0.05).all()
    for _ in range(200):
        duels.learn({(0, 1): 1.0})
    assert duels.left(0.05).tolist() == [True, False, True]
    low, high = duels.bounds(0.05)
    assert low[0, 1] > 0.5 > high[1, 0]
    assert (low[0, 2], high[0, 2]) == (0.0, 1.0)


def test_a_state_that_does_not_fit_is_refused() -> None:
    duels = Duels(3, MergeDTS())
    with pytest.raises(ValueError, match="needs the arrays"):
        duels.restore({"wins": np.zeros((3, 3))})
    with pytest.raises(ValueError, match="wins"):
        duels.restore(Duels(4, MergeDTS()).state())
    with pytest.raises(ValueError, match="below 0"):
        duels.restore({**duels.state(), "wins": -np.ones((3, 3))})
