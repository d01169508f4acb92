"""Every Python block in the docs runs; links inside the project lead somewhere."""

import re
from pathlib import Path

import pytest

from rankfall.experiments import Study

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", [p for p in PAGES if "```python\n" in p.read_text()], ids=lambda p: p.name)
def test_python_blocks_run(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    namespace: dict[str, object] = {}
    for block in blocks:
        if not block.startswith(">>>"):  # those are doctests, which pytest runs and compares
            exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [p for p in PAGES if "```toml\nname = " in p.read_text()], ids=lambda p: p.name)
def test_studies_can_be_read(page: Path) -> None:
    for block in re.findall(r"^```toml\n(name = .*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        Study.from_toml(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_tests_of_promises_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)?(?:::(test_\w+))?`", (ROOT / "docs" / "reliability.md").read_text())
    file = ""
    for path, test in named:
        file = path or file
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
    assert len(named) > 40
