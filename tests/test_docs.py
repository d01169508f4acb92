"""Every Python block in the docs runs, every command has the options it names, and links lead somewhere."""

import re
import shlex
from pathlib import Path

import click
import pytest

from rankfall.cli import app
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
    for target in re.findall(r"\]\(([^)\s:]+)\)", page.read_text()):
        path, _, heading = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        assert not heading or heading in headings(there), target


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", index.read_text()))
    assert listed == {page.name for page in (ROOT / "docs").glob("*.md")} - {index.name}


def headings(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE))
    return {line.strip().replace(" ", "-") for line in words}


def commands() -> list[tuple[str, list[str]]]:
    """Every call of `rankfall` that stands in a block of a page which people write."""
    found = []
    for page in PAGES:
        if page.name == "cli.md":  # made from the commands themselves
            continue
        for block in re.findall(r"^ *```console\n(.*?)^ *```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip().startswith("rankfall "):
                    words = shlex.split(line.split(" >")[0], comments=True)
                    found.append((page.name, words[1:]))
    return found


MISSING = ("does not exist", "No module named")
"""What is said of files and modules of the reader's own."""


@pytest.mark.parametrize(("page", "words"), commands(), ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_commands_and_their_options_are_there(page: str, words: list[str]) -> None:
    command: click.Command = app
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words
        command, words = found, words[1:]
    try:
        command.make_context(command.name, list(words))
    except click.BadParameter as problem:
        if not any(said in problem.message for said in MISSING):
            raise


def test_the_tests_of_promises_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)?(?:::(test_\w+))?`", (ROOT / "docs" / "reliability.md").read_text())
    file = ""
    for path, test in named:
        file = path or file
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
    assert len(named) > 40
