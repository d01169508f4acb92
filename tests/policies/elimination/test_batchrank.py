"""BatchRank against a plain form of it, its invariants, and what it learns."""

import copy
import math
from collections import Counter

import numpy as np
import pytest
from clickers import Cascade, PositionBased, slope
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from rankfall import Catalog, check_policy, simulate
from rankfall.errors import FeedbackError, ProblemError
from rankfall.kernels import batchrank as batches
from rankfall.policies import make_policy
from rankfall.policies.elimination.batchrank import BatchRank
from rankfall.policies.ranking import Ranking

EXAMINATION = [1.0, 0.7, 0.5, 0.35]


def kl(p, q):
    def part(a, b):
        return 0.0 if a == 0 else math.inf if b == 0 else a * math.log(a / b)

    return part(p, q) + part(1 - p, 1 - q)


def kl_bounds(clicks, shown, budget):
    mean = clicks / shown

    def outermost(end):
        return end if shown * kl(mean, end) <= budget else brentq(lambda q: shown * kl(mean, q) - budget, mean, end)

    # An end at which the divergence is infinite cannot be given to the solver: stay just inside.
    low = 0.0 if mean == 0 else outermost(1e-300)
    high = 1.0 if mean == 1 else outermost(1 - 1e-16)
    return low, high


class Plain:
    """The algorithm in sets and dictionaries, told what was shown and clicked; it keeps what it decided and why."""

    def __init__(self, n_items, k, steps, samples):
        self.steps, self.samples = steps, samples
        self.batches = [self.fresh(0, k - 1, range(n_items), 0)]
        self.decisions = []

    def fresh(self, first, last, items, stage):
        return {
            "first": first,
            "last": last,
            "stage": stage,
            "n": dict.fromkeys(items, 0),
            "c": dict.fromkeys(items, 0),
        }

    def shows(self, items):
        """Whether a full list is one that DisplayBatch may give."""
        for batch in self.batches:
            here = items[batch["first"] : batch["last"] + 1]
            counts = sorted(batch["n"].values())[: len(here)]
            if not set(here) <= set(batch["n"]) or sorted(batch["n"][d] for d in here) != counts:
                return False
        return True

    def stages(self):
        return [id(batch) for batch in self.batches for _ in range(batch["last"] - batch["first"] + 1)]

    def learn(self, items, stages, clicks):
        least = {id(batch): min(batch["n"].values()) for batch in self.batches}
        for batch in self.batches:
            for position, (d, stage) in enumerate(zip(items, stages, strict=True)):
                if stage == id(batch) and batch["n"][d] == least[stage]:
                    batch["n"][d] += 1
                    batch["c"][d] += position in clicks
        self.batches = [new for batch in self.batches for new in self.ended(batch)]

    def ended(self, batch):
        if min(batch["n"].values()) < math.ceil(self.samples * 2.0 ** (2 * batch["stage"]) * math.log(self.steps)):
            return [batch]
        log = math.log(self.steps)
        budget = log + 3 * math.log(log)
        bounds = {d: kl_bounds(batch["c"][d], batch["n"][d], budget) for d in batch["n"]}
        order = sorted(bounds, key=lambda d: (-round(bounds[d][0], 12), d))
        length = batch["last"] - batch["first"] + 1
        splits = [s for s in range(1, length) if bounds[order[s - 1]][0] > max(bounds[d][1] for d in order[s:]) + 1e-12]
        if splits:
            s = max(splits)
            self.decisions.append(("split", bounds, order[:s], order[s:], length))
            middle = batch["first"] + s
            return [
                self.fresh(batch["first"], middle - 1, sorted(order[:s]), 0),
                self.fresh(middle, batch["last"], sorted(order[s:]), 0),
            ]
        bar = bounds[order[length - 1]][0]
        kept = [d for d in order if bounds[d][1] >= bar - 1e-12]
        self.decisions.append(("eliminate", bounds, kept, [d for d in order if d not in kept], length))
        return [self.fresh(batch["first"], batch["last"], sorted(kept), batch["stage"] + 1)]


def partition(plain):
    return tuple(((b["first"], b["last"]), tuple(sorted(b["n"]))) for b in plain.batches)


def check_invariants(policy):
    state = policy.state()
    held = [item for _, items in policy.batches for item in items]
    assert len(set(held)) == len(held)
    assert set(held) == set(np.flatnonzero(state["batch_of"] >= 0).tolist())
    expected = 0
    for (first, last), items in policy.batches:
        assert first == expected  # positions follow one another without a gap
        assert len(items) >= last - first + 1 >= 1
        counts = state["shown"][list(items)]
        assert counts.max() - counts.min() <= 1
        assert (state["clicked"][list(items)] <= counts).all()
        expected = last + 1
    assert expected == policy.k


@pytest.mark.parametrize("k", [1, 3, 6])
def test_keeps_the_contract(k):
    policy = BatchRank(8, k=k, steps=1000)
    check_policy(policy)
    simulate(policy, Cascade(np.linspace(0.9, 0.1, 8)), 2000, k)
    check_policy(policy)


def test_is_in_the_table():
    policy = make_policy("BatchRank", Catalog(relevance=np.eye(5)), k=2, steps=500)
    assert isinstance(policy, BatchRank)
    assert (policy.n_items, policy.k, policy.settings.steps) == (5, 2, 500)


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"steps": 1}, {"samples": 0}, {"samples": float("nan")}], ids=lambda s: str(s)
)
def test_refuses_settings_that_make_no_sense(settings):
    with pytest.raises(ProblemError):
        BatchRank(5, **settings)


def test_refuses_rankings_of_others():
    policy = BatchRank(5, k=2, steps=100)
    before = policy.state()
    for strange in (
        Ranking([0, 1]),
        Ranking([0, 1], note=np.array([0])),
        Ranking([0, 9], note=np.array([0, 0])),
    ):
        with pytest.raises(FeedbackError):
            policy.update(strange, 0)
    np.testing.assert_equal(policy.state(), before)


@given(
    clicks=st.integers(0, 300),
    missed=st.integers(0, 300),
    budget=st.floats(0.1, 40.0),
)
def test_bounds_are_the_outermost_within_the_budget(clicks, missed, budget):
    shown = clicks + missed + 1
    lower, upper = batches.bounds(np.array([float(clicks)]), np.array([float(shown)]), budget)
    low, high = kl_bounds(clicks, shown, budget)
    assert lower[0] == pytest.approx(low, abs=1e-9)
    assert upper[0] == pytest.approx(high, abs=1e-9)
    assert 0 <= lower[0] <= clicks / shown <= upper[0] <= 1


@pytest.mark.parametrize("user", [Cascade, lambda a: PositionBased(a, EXAMINATION)], ids=["cascade", "position"])
@settings(max_examples=25)
@given(
    attraction=st.lists(st.sampled_from([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]), min_size=2, max_size=9),
    k=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    samples=st.sampled_from([1.0, 4.0, 16.0]),
)
def test_does_what_the_plain_form_does(user, attraction, k, seed, samples):
    """Where answers come at once: same lists and clicks, the same batches, and decisions that their bounds allow."""
    k, steps = min(k, len(attraction)), 300
    policy = BatchRank(len(attraction), k=k, steps=steps, samples=samples)
    plain = Plain(len(attraction), k, steps, samples)
    someone, rng = user(attraction), np.random.default_rng(seed)
    for _ in range(1500):
        ranking = policy.rank(k, rng=rng)
        assert plain.shows(ranking.items.tolist())
        click = someone.click(ranking.items, rng.random(k))
        clicks = set() if click is None else {click} if isinstance(click, int) else set(click)
        policy.update(ranking, click)
        plain.learn(ranking.items.tolist(), plain.stages(), clicks)
        assert policy.batches == partition(plain)
    check_invariants(policy)
    for what, bounds, upper, lower, length in plain.decisions:
        if what == "split":
            assert min(bounds[d][0] for d in upper) > max(bounds[d][1] for d in lower)
        for d in lower if what == "eliminate" else ():
            assert sum(bounds[other][0] > bounds[d][1] for other in bounds) >= length


@settings(max_examples=40)
@given(data=st.data(), n_items=st.integers(2, 8), k=st.integers(1, 5), seed=st.integers(0, 10_000))
def test_invariants_hold_whatever_comes_back_and_whenever(data, n_items, k, seed):
    policy, rng, waiting = BatchRank(n_items, k=k, steps=50, samples=0.7), np.random.default_rng(seed), []
    attraction = data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.6, 1.0]), min_size=n_items, max_size=n_items))
    gone = set()
    for _ in range(300):
        length = int(rng.integers(1, n_items + 1))
        barred = rng.choice(n_items, size=int(rng.integers(0, n_items - length + 1)), replace=False)
        ranking = policy.rank(length, rng=rng, exclude=barred if len(barred) else None)
        assert not set(ranking.items.tolist()) & set(barred.tolist())
        waiting.append(ranking)
        while waiting and rng.random() < 0.5:
            late = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.9:
                policy.update(late, [i for i, a in enumerate(late.items.tolist()) if rng.random() < attraction[a]])
                check_invariants(policy)
                eliminated = set(np.flatnonzero(policy.state()["batch_of"] < 0).tolist())
                assert gone <= eliminated  # nothing comes back
                gone = eliminated


def test_what_comes_for_a_stage_that_is_over_is_ignored():
    policy = BatchRank(3, k=1, steps=20, samples=0.1)
    rng = np.random.default_rng(0)
    late = policy.rank(1, rng=rng)
    while policy.state()["serials"] == 1:
        policy.update(policy.rank(1, rng=rng), None)
    before = policy.state()
    policy.update(late, 0)
    before["n_updates"] += 1
    np.testing.assert_equal(policy.state(), before)


def test_within_a_batch_items_are_shown_equally_often_everywhere():
    """Every item is as often on every position of its batch, up to chance (five standard errors)."""
    policy, rng, seen = BatchRank(6, k=3, steps=10**6), np.random.default_rng(1), Counter()
    for _ in range(4000):
        ranking = policy.rank(3, rng=rng)
        seen.update(enumerate(ranking.items.tolist()))
        policy.update(ranking, None)
    assert policy.batches == (((0, 2), tuple(range(6))),)
    assert all(abs(seen[p, d] - 4000 / 6) < 5 * math.sqrt(4000 / 6) for p in range(3) for d in range(6))
    assert len({sum(seen[p, d] for p in range(3)) for d in range(6)}) == 1


def test_without_clicks_nothing_is_decided():
    policy = BatchRank(5, k=2, steps=30, samples=0.5)
    for i in range(500):
        policy.update(policy.rank(2, rng=np.random.default_rng(i)), ())
    assert policy.batches == (((0, 1), (0, 1, 2, 3, 4)),)
    assert policy.state()["stage"][0] > 0


def test_shorter_lists_are_cut_and_longer_ones_filled_up():
    policy = BatchRank(6, k=3, steps=100)
    full = policy.rank(3, rng=np.random.default_rng(4)).items.tolist()
    assert policy.rank(2, rng=np.random.default_rng(4)).items.tolist() == full[:2]
    longer = policy.rank(6, rng=np.random.default_rng(4))
    assert longer.items.tolist() == [*full, *sorted(set(range(6)) - set(full))]
    policy.update(longer, [3, 4, 5])
    state = policy.state()
    assert state["shown"].sum() == 3
    assert state["clicked"].sum() == 0


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("user", [Cascade, lambda a: PositionBased(a, EXAMINATION)], ids=["cascade", "position"])
def test_finds_the_best_list_with_sublinear_regret(user, order):
    """Under the models it promises to; wherever the good items are, it ends with them in order, one a batch."""
    attraction = [0.4, 0.3, 0.2, 0.02, 0.02, 0.02][::order]
    someone, policy = user(attraction), BatchRank(6, k=3, steps=30_000)
    run = simulate(policy, someone, 30_000, 3, seed=3)
    assert slope(run) < 0.8
    best = someone.best(3).tolist()
    assert policy.batches == tuple(((p, p), (best[p],)) for p in range(3))


def test_a_copy_goes_its_own_way():
    policy = BatchRank(4, k=2, steps=100)
    twin = copy.deepcopy(policy)
    twin.update(twin.rank(2), 0)
    assert policy.state()["shown"].sum() == 0
    assert twin.state()["shown"].sum() == 2


def as_code(**settings: object) -> BatchRank:
    return BatchRank(4, k=3, steps=100, form="code", **settings)


def fed(policy: BatchRank, rates: list[float], stage: int) -> None:
    """Give every item its stage's worth of lists at once, clicked at these rates; then two more lists end the stage."""
    known = policy.state()
    known["stage"][:] = stage
    policy.restore(known)
    target = policy.stage_length(stage)
    policy.arrays["shown"][:] = target - 1
    policy.arrays["clicked"][:] = [round(rate * (target - 1)) for rate in rates]
    rng = np.random.default_rng(0)
    for _ in range(2):  # three of four items in a list
        policy.update(policy.rank(3, rng=rng), None)


def test_as_in_the_code_stages_follow_log_of_items_times_steps() -> None:
    lengths = [as_code().stage_length(stage) for stage in range(3)]
    assert lengths == [math.ceil(4 ** (stage + 1) * math.log(4 * 100)) for stage in range(3)]
    assert as_code().budget == pytest.approx(math.log(400))


def test_as_in_the_code_counts_go_on_while_nothing_changes() -> None:
    policy = as_code()
    fed(policy, [0.5, 0.5, 0.5, 0.5], stage=0)
    assert policy.batches == (((0, 2), (0, 1, 2, 3)),)
    assert policy.arrays["stage"].tolist() == [1]
    assert policy.arrays["shown"].min() >= policy.stage_length(0)


def test_as_in_the_code_a_batch_splits_at_every_place_at_once_and_drops_what_is_too_low() -> None:
    policy = as_code()
    fed(policy, [0.0, 1.0, 0.1, 0.5], stage=2)
    assert policy.batches == (((0, 0), (1,)), ((1, 1), (3,)), ((2, 2), (2,)))
    assert policy.arrays["batch_of"][0] == -1
    assert policy.arrays["shown"].tolist() == policy.arrays["clicked"].tolist() == [0] * 4
    twin = as_code().with_state(policy.state())
    assert twin.batches == policy.batches


def test_as_in_the_code_it_ends_with_the_best_list_sooner_than_as_in_the_paper() -> None:
    user = PositionBased([0.1, 0.2, 0.9, 0.7, 0.5, 0.05], [1.0, 0.8, 0.6])
    regret = {}
    for form in ("paper", "code"):
        policy = BatchRank(6, k=3, steps=20_000, form=form)
        regret[form] = simulate(policy, user, 20_000, 3, seed=1).regret[-1]
        assert policy.rank(3, rng=np.random.default_rng(0)).items.tolist() == [2, 3, 4]
    assert regret["code"] < regret["paper"]
