"""Whatever happens, in whatever order: the state is what the accepted answers say, bit for bit."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from engines import arrays
from histories.history import History
from histories.models import MODELS, TOGETHER, USERS
from histories.operations import histories, many_visits, run_history
from hypothesis import Phase

from rankfall.history.export import export
from rankfall.policies.linear import crosses
from rankfall.policies.linear.prior import Prior


@pytest.fixture(autouse=True)
def early_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose how far contexts move preferences after two lists: histories are short."""
    monkeypatch.setattr(crosses, "FIRST_CHOICE", 2)


@pytest.fixture(autouse=True)
def _any_users_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankfall.service.prior_refresh.FIRST_USERS", 1)


def check_history(folders: Iterator[int], tmp_path: Path, operations: list[tuple[Any, ...]], room: int) -> None:
    run_history(str(tmp_path / f"{next(folders)}"), operations, room)


FOLDERS = count()


@histories(75)
def test_any_history_gives_the_state_of_its_answers(
    tmp_path: Path, operations: list[tuple[Any, ...]], room: int
) -> None:
    check_history(FOLDERS, tmp_path, operations, room)


KINDS = {
    *("learned at all", "a click was learned", "an outcome before the clicks", "an outcome after the clicks"),
    *("learned in context", "learned with features of the request"),
    *("learned under rules of the request", "learned under rules of the model"),
    *("learned after a prior", "a prior was learned here", "a prior was learned elsewhere"),
    *("something left the window", "who was forgotten had taught", "learned of a list that another server made"),
    *("a wait ran out", "what was learned was reset", "something else was restored"),
    *("a stop", "a checkpoint", "a crash"),
}
"""What histories must have, or their tests say little."""


def test_everything_happens_in_such_histories(tmp_path: Path) -> None:
    """In histories that are always the same, each of the things that can happen does."""
    happened: Counter[str] = Counter()

    @histories(75, derandomize=True, database=None, phases=[Phase.generate])
    def run(operations: list[tuple[Any, ...]], room: int) -> None:
        history = run_history(str(tmp_path / f"{next(FOLDERS)}"), operations, room)
        assert history.happened.keys() <= KINDS
        happened.update(name for name, times in history.happened.items() if times)

    run()
    assert {name: happened[name] for name in KINDS if not happened[name]} == {}


@pytest.mark.parametrize("seed", range(16))
def test_any_history_of_users_who_start_together_gives_the_state_of_its_answers(place: str, seed: int) -> None:
    run_history(place, many_visits(seed), room=(1, 2, 100)[seed % 3])


@pytest.mark.soak
@histories(2000)
def test_any_history_gives_the_state_of_its_answers_at_length(
    tmp_path: Path, operations: list[tuple[Any, ...]], room: int
) -> None:
    check_history(FOLDERS, tmp_path, operations, room)


@histories(25)
def test_any_history_is_in_its_export(tmp_path: Path, operations: list[tuple[Any, ...]], room: int) -> None:
    """By the code of docs/logs.md, which is for models that were never reset."""
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    words: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], words)
    folder = tmp_path / f"{next(FOLDERS)}"
    history = History(str(folder), room)
    try:
        for operation in operations:
            if operation[0] not in ("reset", "restore"):
                history.do(operation)
        export(history.engine.store, folder)
        named = [(model, user) for model in ("valued", "in context", *TOGETHER) for user in USERS]
        for model, user in [*named, ("valued in context", "")]:
            if any(not isinstance(lesson, Prior) for lesson in history.learned[model].get(user, [])):
                declared = MODELS[model].get("rewards"), MODELS[model].get("context")
                known = words["learned"](folder, model, user, *declared)
                assert {name: one.tobytes() for name, one in known.items()} == arrays(history.engine, model, user)
    finally:
        history.close()


@histories(12)
def test_both_databases_give_the_same_state(
    tmp_path: Path, postgres: Any, operations: list[tuple[Any, ...]], room: int
) -> None:
    url = postgres.fresh()
    try:
        apart = run_history(str(tmp_path / f"{next(FOLDERS)}"), operations, room).expected()
        assert run_history(url, operations, room).expected() == apart
    finally:
        postgres.drop(url)
