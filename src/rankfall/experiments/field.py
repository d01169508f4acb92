"""Studies of the field: any policies on simulated users of any kind, beside published figures where there are some."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankfall.arrays import number, whole
from rankfall.catalog import Catalog
from rankfall.data import generate, on_sphere
from rankfall.errors import CatalogError, FileError, ProblemError, RankfallError
from rankfall.experiments.cells import parquet
from rankfall.experiments.results import Run, summary
from rankfall.experiments.simulation import default_checkpoints, simulate
from rankfall.files import replacing
from rankfall.policies import POLICIES, Policy
from rankfall.users import (
    Cascade,
    Coverage,
    DependentClick,
    DocumentBased,
    Drifting,
    Environment,
    Hybrid,
    Linear,
    PerItem,
    PositionBased,
    User,
    restaurant,
)
from rankfall.users.fitting import Fitted

_CLICKS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "cascade": (Cascade, ()),
    "dependent_click": (DependentClick, ("termination",)),
    "position_based": (PositionBased, ("examination",)),
    "document_based": (DocumentBased, ()),
}
_FEW = 9
"""Up to so many lines can be told apart in one figure."""
_OWN = 2_000
"""Up to so many items without features are given one column each, so that linear policies can tell them apart."""
_USER = {
    "attraction",
    "catalog",
    "clicks",
    "drift",
    "examination",
    "fitted",
    "generate",
    "intents",
    "reward",
    "sphere",
    "termination",
    "tradeoff",
}
_COMPLETE: Mapping[str, set[str]] = {"fitted": {"catalog", "reward"}, "intents": set()}
"""Words that say all of a user, and what may stand beside them."""
_MADE_UP: Mapping[str, Callable[..., Any]] = {"generate": generate, "intents": restaurant, "sphere": on_sphere}


@dataclass(frozen=True)
class Published:
    """A figure from a paper: what it is of (``regret`` or ``clicks`` at the last step), its value and its error."""

    value: float
    what: str = "regret"
    error: float | None = None

    def __post_init__(self) -> None:
        if self.what not in ("regret", "clicks"):
            raise ProblemError(f"what must be regret or clicks, got {self.what!r}")
        number("value", self.value, ProblemError)


@dataclass(frozen=True)
class Case:
    """One policy on one user.

    ``user`` says what attracts (``attraction``: numbers for each item, or ``{best, good, rest, bad}`` for a block of
    good items and one of bad ones; or ``generate``: a made-up catalog, with ``attraction`` ``hybrid``, ``linear`` or
    ``coverage``; or ``sphere``: features on a sphere, whose attraction is linear), how clicks come about (``clicks``,
    with ``termination`` or ``examination``), what they earn (``reward``), and how it changes (``drift``: a list of
    ``{from, ...}``, each with other words of a user). ``fitted``, a file of ``rankfall fit --out``, says both what
    attracts and how clicks come about, and so does ``intents``: :func:`rankfall.users.restaurant`. Beside
    ``fitted`` a ``catalog``, a file of :meth:`rankfall.Catalog.write_parquet`, has the features policies may learn by.

    Where something is made up from a ``seed``, that may be a list: run r takes the r-th, and after the last the first.
    """

    label: str
    policy: str
    k: int
    user: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    published: Published | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ProblemError(f"no policy {self.policy!r}; choose from {', '.join(POLICIES)}")
        whole("k", self.k, ProblemError, low=1)
        for words in (self.user, *(change for _, change in self._changes())):
            _check_words(words)

    def _changes(self) -> list[tuple[int, dict[str, Any]]]:
        """From which step on the user is another one, and all words of that one."""
        rest = _without(self.user, "drift")
        changes = []
        for change in self.user.get("drift", []):
            if "catalog" in change:
                raise ProblemError("what policies know of the items does not drift; say catalog once, for the user")
            start = whole("from", change.get("from"), ProblemError, low=1)
            changes.append((start, {**rest, **_without(change, "from")}))
        return changes

    def world(self, run: int = 0) -> tuple[Catalog, Environment]:
        """What the policy knows of the items in this run, and who looks at them."""
        catalog, user = _user(self.user, self.k, run)
        stretches = [(0, user)]
        for start, words in self._changes():
            later, other = _user(words, self.k, run)
            if later.ids != catalog.ids:
                raise ProblemError(f"from step {start} on the user knows other items; all models must be of the same")
            stretches.append((start, other))
        return catalog, user if len(stretches) == 1 else Drifting(stretches)

    def make(self, catalog: Catalog, steps: int) -> Policy:
        """The policy, with its settings."""
        kind = POLICIES[self.policy]
        if not self.settings:
            return kind.make(catalog, k=self.k, steps=steps)
        known = {"k": self.k, "steps": steps}
        needed = {name: value for name, value in known.items() if name in kind.needs}
        return kind(catalog, **{**needed, **self.settings})


@dataclass(frozen=True)
class FieldStudy:
    """Cases, each run ``runs`` times for ``steps`` lists with coins that are the same for all cases."""

    name: str
    cases: tuple[Case, ...]
    steps: int
    runs: int = 10
    seed: int = 0
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for count in ("steps", "runs"):
            whole(count, getattr(self, count), ProblemError, low=1)
        whole("seed", self.seed, ProblemError, low=0)
        labels = [case.label for case in self.cases]
        if not labels or len(set(labels)) < len(labels):
            raise ProblemError(f"a study needs cases with labels of their own, got {labels}")

    @classmethod
    def from_toml(cls, text: str, folder: Path = Path()) -> FieldStudy:
        """The study in a text. ``policies`` stands for a case for each of them.

        ``k`` and ``[user]`` are those of all cases; what a case says of its own user is added, or said instead. Files
        are looked for in ``folder``.
        """
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise ProblemError(f"not TOML: {problem}") from problem
        shared: dict[str, Any] = {name: content.pop(name) for name in ("user", "k") if name in content}
        cases = [_case(_joined(shared, case), folder) for case in content.pop("case", [])]
        settings = content.pop("settings", {})
        names = content.pop("policies", [])
        cases += [
            _case({**shared, "label": policy, "policy": policy, "settings": settings.get(policy, {})}, folder)
            for policy in (list(POLICIES) if names == "all" else names)
        ]
        unknown = set(content) - {"name", "steps", "runs", "seed", "source", "note"}
        if unknown:
            raise ProblemError(f"a study of the field has no {sorted(unknown)[0]!r}")
        try:
            return cls(cases=tuple(cases), **content)
        except TypeError as problem:
            raise ProblemError(f"a study of the field needs name, steps and cases: {problem}") from None

    @classmethod
    def read(cls, path: Path) -> FieldStudy:
        """The study in a file."""
        try:
            return cls.from_toml(path.read_text(encoding="utf-8"), path.parent)
        except (OSError, UnicodeDecodeError) as problem:
            raise FileError(f"cannot read {path}: {problem}") from None
        except ProblemError as problem:
            raise ProblemError(f"{path}: {problem}") from problem


def is_field(path: Path) -> bool:
    """Whether a file holds a study of the field rather than one on a data set."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return "dataset" not in content and ("case" in content or "user" in content)


def run_field(study: FieldStudy, *, workers: int | None = None) -> Iterator[tuple[int, int, Run]]:
    """Every (case, run) with its result, in whatever order they end; the same results with any number of workers."""
    tasks = [(c, r) for r in range(study.runs) for c in range(len(study.cases))]
    if workers == 1:
        for c, r in tasks:
            yield c, r, _run(study, c, r)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_run, study, c, r): (c, r) for c, r in tasks}
        try:
            for future in list(futures):
                yield (*futures[future], future.result())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _run(study: FieldStudy, c: int, r: int) -> Run:
    case = study.cases[c]
    catalog, user = case.world(r)
    seed = np.random.SeedSequence(study.seed, spawn_key=(0, r))
    try:
        return simulate(case.make(catalog, study.steps), user, study.steps, case.k, seed, _marks(study.steps))
    except RankfallError as problem:
        raise ProblemError(f"{case.label}: {problem}") from problem


def _marks(steps: int) -> list[int]:
    """Evenly spaced steps, and evenly in logarithms before them, so that slopes can be seen."""
    early = np.unique(np.geomspace(1, steps, 40).astype(int)).tolist()
    return sorted({*early, *default_checkpoints(steps, 50).tolist()})


def frame_of(study: FieldStudy, results: Mapping[tuple[int, int], Run]) -> pl.DataFrame:
    """All runs as one table: case, policy, run, step, regret, clicks, best."""
    frames = [
        results[c, r].frame(case=case.label, policy=case.policy, run=r).drop("touched", "covered")
        for c, case in enumerate(study.cases)
        for r in range(study.runs)
    ]
    return pl.concat(frames)


def compared(study: FieldStudy, runs: pl.DataFrame) -> pl.DataFrame:
    """For each case: regret and click rate at the end, the slope of regret, and the published figure beside ours.

    ``late`` is what lists of the last tenth of steps earn, as a share of the best list; for users who stay the same.
    """
    last = summary(runs.filter(pl.col("step") == study.steps), by=("case", "step"))
    rows = []
    for case in study.cases:
        own = runs.filter(pl.col("case") == case.label)
        end = last.filter(pl.col("case") == case.label).row(0, named=True)
        finals = own.filter(pl.col("step") == study.steps)
        published = case.published
        ours = None if published is None else float(finals[published.what].mean())  # type: ignore[arg-type]
        rows.append(
            {
                "case": case.label,
                "policy": case.policy,
                "regret": end["regret"],
                "regret_error": end["regret_error"],
                "click_rate": float((finals["clicks"] / study.steps).mean()),  # type: ignore[arg-type]
                "late": None if "drift" in case.user else _late(own, study.steps),
                "slope": _slope(own, study.steps),
                "published": None if published is None else published.value,
                "published_error": None if published is None else published.error,
                "difference": None if published is None or ours is None else ours - published.value,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _late(runs: pl.DataFrame, steps: int) -> float | None:
    """What the last tenth of lists earns, as a share of the best list; the mean over runs."""
    late = runs.filter(pl.col("step") >= 0.9 * steps).sort("step")
    pace = (pl.col("regret").last() - pl.col("regret").first()) / (pl.col("step").last() - pl.col("step").first())
    shares = late.group_by("run", maintain_order=True).agg((1.0 - pace / pl.col("best").first()).alias("share"))[
        "share"
    ]
    share = shares.filter(shares.is_finite()).mean()
    return None if share is None else float(share)  # type: ignore[arg-type]


def _slope(runs: pl.DataFrame, steps: int) -> float | None:
    """Of log regret over log steps, in the last decade: below 1 regret is sublinear."""
    mean = runs.group_by("step").agg(pl.col("regret").mean()).sort("step")
    late = mean.filter((pl.col("step") >= steps / 10) & (pl.col("regret") > 0))
    if len(late) < 3:
        return None
    x, y = np.log(late["step"].to_numpy()), np.log(late["regret"].to_numpy())
    return float(np.polyfit(x, y, 1)[0])


def write_field(study: FieldStudy, runs: pl.DataFrame, out: Path) -> list[Path]:
    """Write the runs, the table and the figure of a study; the files."""
    from rankfall.experiments import figures

    out.mkdir(parents=True, exist_ok=True)
    table = compared(study, runs)
    files = [out / "runs.parquet", out / "table.md"]
    for path, content in zip(files, (parquet(runs), markdown(study, table).encode()), strict=True):
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    lines = runs.select(pl.col("case").alias("policy"), "step", "regret", "clicks")
    draw = figures.regret if len(study.cases) <= _FEW else figures.many
    figure = draw(summary(lines), study.name)
    return [*files, *figures.save(figure, out / "regret")]


def markdown(study: FieldStudy, table: pl.DataFrame) -> str:
    """The table for people."""
    lines = [f"# {study.name}", ""]
    for text in (study.source, study.note.strip(), f"{study.runs} runs of {study.steps:,} steps."):
        lines += [text, ""] if text else []
    with_published = table["published"].is_not_null().any()
    heads = [
        "case",
        "regret",
        "lists clicked",
        "of the best, at the end",
        "slope",
        *(["published", "difference"] if with_published else []),
    ]
    lines += ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for row in table.iter_rows(named=True):
        error = "" if row["regret_error"] is None else f" ± {row['regret_error']:,.1f}"
        slope = "" if row["slope"] is None else f"{row['slope']:.2f}"
        late = "" if row["late"] is None else f"{row['late']:.1%}"
        cells = [row["case"], f"{row['regret']:,.1f}{error}", f"{row['click_rate']:.1%}", late, slope]
        if with_published:
            known = row["published"] is not None
            published_error = f" ± {row['published_error']:,.1f}" if row["published_error"] is not None else ""
            cells += [
                f"{row['published']:,.1f}{published_error}" if known else "",
                f"{row['difference']:+,.1f}" if known else "",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _case(values: Mapping[str, Any], folder: Path) -> Case:
    values = dict(values)
    published = values.pop("published", None)
    if isinstance(values.get("user"), Mapping):
        values["user"] = _found(values["user"], folder)
    try:
        return Case(**values, published=None if published is None else Published(**published))
    except TypeError as problem:
        raise ProblemError(f"a case needs label, policy, k and user: {problem}") from None


def _joined(shared: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """A case with what is said for all of them."""
    users = [values["user"] for values in (shared, case) if "user" in values]
    if len(users) == 2 and all(isinstance(words, Mapping) for words in users):
        return {**shared, **case, "user": {**users[0], **users[1]}}
    return {**shared, **case}


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _found(words: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The words of a user, and of those it becomes, with files where they are."""
    found = dict(words)
    for word in ("fitted", "catalog"):
        if isinstance(found.get(word), str):
            found[word] = str(folder / found[word])
    if "drift" in found:
        if not isinstance(found["drift"], list) or not all(isinstance(change, Mapping) for change in found["drift"]):
            raise ProblemError(f"drift must be a list of {{from, ...}}, got {found['drift']!r}")
        found["drift"] = [_found(change, folder) for change in found["drift"]]
    return found


def _check_words(words: Mapping[str, Any]) -> None:
    unknown = set(words) - _USER
    if unknown:
        raise ProblemError(f"a user has no {sorted(unknown)[0]!r}; it has {', '.join(sorted(_USER))}")
    for word in ("fitted", "catalog"):
        if not isinstance(words.get(word, ""), str):
            raise ProblemError(f"{word} must be the path of a file, got {words[word]!r}")
    if "catalog" in words and "fitted" not in words:
        raise ProblemError("a user has a catalog only beside fitted; others bring items of their own")
    for word, others in _COMPLETE.items():
        beside = set(words) - {word, "drift"} - others
        if word in words and beside:
            raise ProblemError(f"a user with {word!r} is complete; leave {sorted(beside)[0]!r} away")


def _plain(n_items: int, ids: list[Any] | None = None) -> Catalog:
    """Items with no features to know them by: each is its own."""
    return Catalog(relevance=np.eye(n_items, n_items if n_items <= _OWN else 0), ids=ids)


def _shelf(fitted: Fitted, path: str | None) -> Catalog:
    """The items of a fitted user, with the features a catalog has of them."""
    ids = [item if isinstance(item, int | str) else str(item) for item in fitted.items.to_list()]
    if path is None:
        return _plain(len(ids), ids)
    whole_catalog = Catalog.read_parquet(path)
    try:
        rows = whole_catalog.rows(ids)
    except CatalogError as problem:
        raise ProblemError(f"the log has an item that {path} has not: {problem}") from None
    coverage, relevance = whole_catalog.coverage[rows], whole_catalog.relevance[rows]
    return Catalog(coverage, relevance, ids=ids, topics=whole_catalog.topics)


def _made_up(word: str, values: Mapping[str, Any], run: int) -> Any:
    """What a word for something made up stands for in this run."""
    if not isinstance(values, Mapping):
        raise ProblemError(f"{word} must be a table of words, got {values!r}")
    seed = values.get("seed", 0)
    if isinstance(seed, list):
        if not seed:
            raise ProblemError(f"seed of {word} is an empty list; expected whole numbers")
        seed = seed[run % len(seed)]
    try:
        return _MADE_UP[word](**{**values, "seed": seed})
    except TypeError as problem:
        raise ProblemError(f"{word} makes no sense: {problem}") from None


def _user(words: Mapping[str, Any], k: int, run: int) -> tuple[Catalog, Environment]:
    if "intents" in words:
        users = _made_up("intents", words["intents"], run)
        return _plain(users.n_items), users
    if "fitted" in words:
        fitted = Fitted.read_parquet(words["fitted"])
        if k > fitted.positions:
            raise ProblemError(f"k is {k}, and {words['fitted']} was fitted on lists of up to {fitted.positions} items")
        return _shelf(fitted, words.get("catalog")), fitted.user(k, words.get("reward"))
    name = words.get("clicks", "cascade")
    if name not in _CLICKS:
        raise ProblemError(f"clicks is {name!r}; choose from {', '.join(_CLICKS)}")
    make, needs = _CLICKS[name]
    clicks = make(*(words[need] for need in needs if need in words))
    attraction = words.get("attraction", "hybrid")
    if "generate" in words:
        world = _made_up("generate", words["generate"], run)
        x, z, theta, beta = world.catalog.coverage, world.catalog.relevance, world.theta[0], world.beta[0]
        kinds: dict[str, Callable[[], Any]] = {
            "hybrid": lambda: Hybrid(x, z, theta, beta, words.get("tradeoff", 0.5)),
            "linear": lambda: Linear(z, beta),
            "coverage": lambda: Coverage(x, theta),
        }
        if attraction not in kinds:
            raise ProblemError(f"attraction of a generated user is {attraction!r}; choose from {', '.join(kinds)}")
        return world.catalog, User(kinds[attraction](), clicks, reward=words.get("reward"))
    if "sphere" in words:
        world = _made_up("sphere", words["sphere"], run)
        return world.catalog, User(Linear(world.catalog.relevance, world.beta[0]), clicks, reward=words.get("reward"))
    if isinstance(attraction, Mapping):
        try:
            good, bad = [attraction["good"]] * attraction["best"], [attraction["bad"]] * attraction["rest"]
        except KeyError as problem:
            raise ProblemError(f"attraction needs best, good, rest and bad, or numbers; {problem} is missing") from None
        attraction = [*good, *bad]
    alpha = np.asarray(attraction, dtype=float)
    return _plain(len(alpha)), User(PerItem(alpha), clicks, reward=words.get("reward"))
