"""Tables in Markdown, and pages with marks between which a script puts them."""

from collections.abc import Iterable, Mapping, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown: text in the first column, numbers in the others."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(page: str, parts: Mapping[str, str]) -> str:
    """The page with what stands between ``<!-- name -->`` and ``<!-- end of name -->`` made anew."""
    for name, text in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if begin in page:
            before, _, behind = page.partition(begin)
            _, found, after = behind.partition(end)
            if not found:
                raise ValueError(f"the page has {begin.strip()} and no {end}")
            page = f"{before}{begin}{text}\n{end}{after}"
    return page
