"""``rankfall compile`` says what it did and where it is kept."""

import re

import pytest
from click.testing import CliRunner

from rankfall import POLICIES
from rankfall.cli import app
from rankfall.cli import compile as command
from rankfall.kernels.kept_code import written_to


def test_what_was_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: POLICIES[name] for name in ("CascadeLinUCB", "CascadeDUCB")}
    monkeypatch.setattr(command, "SERVED", few)
    monkeypatch.setattr(command, "POLICIES", few)
    for _ in range(2):
        done = CliRunner().invoke(app, ["compile"])
        assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [re.sub(r"[\d.]+ s", "? s", line) for line in lines[:2]] == [
        "serve: 0 kernels compiled in ? s",
        "simulate: 0 kernels compiled in ? s",
    ]
    assert lines[2] == f"Kept in {written_to()}"


def test_one_job_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(command, "_serve", lambda: tried.append("serve"))
    monkeypatch.setattr(command, "_simulate", lambda: tried.append("simulate"))
    assert CliRunner().invoke(app, ["compile", "--for", "simulate"]).exit_code == 0
    assert tried == ["simulate"]
