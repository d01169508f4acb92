"""One page that says what a study found: figure, claims, tables, and what it was run with."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from rankfall.errors import FileError
from rankfall.experiments import figures
from rankfall.experiments.paper.claims import LEVEL, LITTLE, SYMBOLS, Claim, Verdict, check_claims
from rankfall.experiments.results import averages, checked, final
from rankfall.files import replacing

_MARKS: dict[Verdict, str] = {"holds": "✓", "does not hold": "✗", "undecided": "?", "not tested": "\N{EN DASH}"}
_TITLES = {"tradeoff": "Tradeoff λ", "topics": "Number of topics d", "positions": "Number of positions K"}
_ABSENT = "\N{EN DASH}"
_PAPER_STEPS = 50_000
_PAPER = "https://doi.org/10.1145/3383313.3412245"


def write_report(out: Path, runs: pl.DataFrame, settings: Mapping[str, object]) -> list[Path]:
    """Write figure, claims, summary and ``report.html`` into the folder ``out``; the same input gives the same bytes.

    Parameters
    ----------
    runs : a row for each checkpoint of each run, as :func:`rankfall.experiments.figures.paper_figure` takes them.
    settings : what the runs were made with, shown as it is. What is under ``"timings"`` is shown as speed.
    """
    runs, out = checked(runs), Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"cannot make the folder {out}: {problem}") from problem
    last, claims = final(averages(runs)), check_claims(runs)
    written = figures.save(figures.paper_figure(runs), out / "figure", ("png", "svg", "pdf"))
    svg = (out / "figure.svg").read_bytes()
    written.append(_write(out / "claims.json", claims_json(claims)))
    written.append(_write(out / "summary.csv", last.write_csv()))
    written.append(_write(out / "report.html", page(last, claims, settings, svg)))
    return written


def claims_json(claims: Sequence[Claim]) -> str:
    """Claims as JSON; a number that is not there is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rows = []
    for claim in claims:
        parts = [{**asdict(part), "verdict": part.verdict} for part in claim.parts]
        rows.append(plain({**asdict(claim), "parts": parts}))
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def page(last: pl.DataFrame, claims: Sequence[Claim], settings: Mapping[str, object], svg: bytes) -> str:
    """The whole page as text. ``last`` is the final rows of :func:`rankfall.experiments.results.averages`."""
    known = [name for name in SYMBOLS if name in set(last["study"])]
    studies = [*known, *sorted(set(last["study"]) - set(known))]
    policies = figures.in_order(last["policy"])
    timings = settings.get("timings")
    others = {name: value for name, value in settings.items() if name != "timings"}
    digits = _digits(last["regret"])
    finals = _tables("Final regret", last, studies, policies, "regret", lambda row: _mean(row, "regret", digits), min)
    rates = _tables(
        "Click rate", last, studies, policies, "click_rate", lambda row: _mean(row, "click_rate", 2, 100, "%"), max
    )
    topics = _tables(
        "Topics touched (covered)",
        last,
        studies,
        policies,
        "touched",
        lambda row: f"{row['touched']:.2f} <span>({row['covered']:.2f})</span>",
    )
    body = [
        _head(last, claims, settings),
        _claims(claims, max(last["step"].to_list())),
        _figure(svg, studies, policies),
        _section(
            "Final regret",
            "Mean over users ± standard error; less is better, and the lowest of a row is in bold. "
            "Small gaps may be chance: the claims above say which are not.",
            *finals,
        ),
        _section(
            "Diversity",
            "Topics in a list, on average over all lists shown. Touched: topics that some item of the list has. "
            "Covered, in brackets: each topic counts as much as the list is likely to cover it.",
            *topics,
        ),
        _section(
            "Click rate",
            "Share of lists that were clicked, over all steps, ± standard error; more is better, and the highest of "
            "a row is in bold.",
            *rates,
        ),
    ]
    if timings is not None:
        rows = timings if isinstance(timings, Mapping) else {"time": timings}
        body.append(_section("Speed", "", _pairs("How long it took", rows)))
    if others:
        body.append(_section("Settings", "", _pairs("What the runs were made with", others)))
    return _PAGE.format(style=_STYLE, body="\n".join(body), paper=_PAPER)


def _head(last: pl.DataFrame, claims: Sequence[Claim], settings: Mapping[str, object]) -> str:
    dataset = settings.get("dataset")
    title = f"Cascading hybrid bandits on {escape(str(dataset))}" if dataset else "Cascading hybrid bandits"
    users, steps = (_span(last[column].to_list()) for column in ("users", "step"))
    settings_run = last.select("study", "value").unique().height
    counts = [(verdict, sum(claim.verdict == verdict for claim in claims)) for verdict in _MARKS]
    marks = "".join(
        f'<li><span class="mark {_slug(verdict)}" aria-hidden="true">{_MARKS[verdict]}</span> '
        f"{verdict}: <b>{count}</b></li>"
        for verdict, count in counts
        if count
    )
    return (
        f"<header><h1>{title}</h1>\n<p>The experiments of section 4.3 of the paper, run again: "
        f"{settings_run} settings, {last['policy'].n_unique()} policies, {users} users, {steps} steps.</p>\n"
        f'<ul class="counts" aria-label="Verdicts on the {len(claims)} claims">{marks}</ul></header>'
    )


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _claims(claims: Sequence[Claim], steps: int) -> str:
    rows = []
    for claim in claims:
        verdict = (
            f'<span class="mark {_slug(claim.verdict)}" aria-hidden="true">{_MARKS[claim.verdict]}</span> '
            f"{escape(claim.verdict)}"
        )
        between = f"{_number(claim.low)} to {_number(claim.high)}" if math.isfinite(claim.low) else _ABSENT
        rows.append(
            f'<tr id="claim-{escape(claim.name, quote=True)}"><td class="verdict">{verdict}</td>'
            f'<th scope="row">{escape(claim.statement)}<small>{escape(claim.detail)}</small>{_parts(claim)}</th>'
            f'<td class="n" data-label="estimate">{_number(claim.estimate)}</td>'
            f'<td class="n" data-label="interval">{between}'
            f"<small>{escape(claim.measure).replace('; ', '<br>')}</small></td></tr>"
        )
    how = (
        f"Each statement is tested on differences within users, who met all policies with the same "
        f"coins; repeats are averaged first. A part of a claim holds if its whole interval is on the side the "
        f"statement says, and does not hold if it is wholly on the other. A claim holds if all its parts do, and does "
        f"not hold if any part does not; everything else is undecided at this scale. Intervals are t-intervals, "
        f"{LEVEL:.0%} for all parts of a claim together (Bonferroni). Estimate and interval are those of the part "
        f"furthest from holding. “By little” and “similar” mean {LITTLE:.0%}, a number of ours."
    )
    table = _table("Claims of section 4.3", ("Verdict", "Claim", "Estimate", "Interval"), rows, "claims")
    note = "What section 4.3 of the paper says of its experiments, and whether it is so in these runs."
    if steps < _PAPER_STEPS:
        note += (
            f" They end after {steps:,} steps, the paper's after {_PAPER_STEPS:,}: what is true here may change later."
        )
    return _section("Claims", note, table, f"<details><summary>How verdicts are made</summary><p>{how}</p></details>")


def _parts(claim: Claim) -> str:
    """All intervals of a claim, folded away."""
    if len(claim.parts) < 2:
        return ""
    rows = [
        f'<tr><th scope="row">{escape(part.what)}</th><td>{_MARKS[part.verdict]} {part.verdict}</td>'
        f'<td class="n">{_number(part.estimate)}</td><td class="n">{_number(part.low)} to {_number(part.high)}</td>'
        f'<td class="n">{part.users}</td></tr>'
        for part in claim.parts
        if part.users
    ]
    heads = ("Quantity", "Verdict", "Estimate", "Interval", "Users")
    table = _table(f"Each holds if it is below {claim.parts[0].bound:g}", heads, rows)
    return f"<details><summary>all {len(claim.parts)} comparisons</summary>{table}</details>" if rows else ""


def _figure(svg: bytes, studies: Sequence[str], policies: Sequence[str]) -> str:
    shown = ", ".join(studies)
    alt = (
        f"Regret of {', '.join(policies)}: a row of panels for each study ({shown}), regret over steps for up to "
        "three settings, then final regret against all settings. The numbers are in the tables below."
    )
    data = base64.b64encode(svg).decode()
    return _section(
        "Figure",
        "",
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="Figure, scrolls sideways">'
        f'<img alt="{escape(alt, quote=True)}" src="data:image/svg+xml;base64,{data}"></div>'
        f"<figcaption>Regret over steps for chosen settings, and final regret for all of them. Less is better. Shaded "
        f"areas and bars are standard errors over users.</figcaption></figure>",
    )


def _tables(
    what: str,
    last: pl.DataFrame,
    studies: Sequence[str],
    policies: Sequence[str],
    column: str,
    cell: Callable[[dict[str, Any]], str],
    best: Callable[[Iterable[float]], float] | None = None,
) -> Iterator[str]:
    """A table for each study: a row for each setting, a column for each policy, the best in bold."""
    for study in studies:
        rows = []
        for (value,), group in last.filter(study=study).group_by("value", maintain_order=True):
            found = {row["policy"]: row for row in group.iter_rows(named=True) if _known(row[column])}
            numbers = [row[column] for row in found.values()]
            mark = best(numbers) if best and numbers else None
            texts = [
                _ABSENT if name not in found else _bold(cell(found[name]), found[name][column] == mark)
                for name in policies
            ]
            cells = "".join(f'<td class="n">{text}</td>' for text in texts)
            rows.append(f'<tr><th scope="row">{SYMBOLS.get(study, "value")} = {value:g}</th>{cells}</tr>')
        heads = [SYMBOLS.get(study, "value"), *(escape(name) for name in policies)]
        yield _table(f"{what}: {_TITLES.get(study, study)}", heads, rows)


def _bold(text: str, wanted: bool) -> str:
    return f"<b>{text}</b>" if wanted else text


def _mean(row: dict[str, Any], column: str, digits: int, scale: float = 1, unit: str = "") -> str:
    """Mean and standard error."""
    error = row[f"{column}_error"]
    after = f" <span>± {scale * error:,.{digits}f}</span>" if _known(error) else ""
    return f"{scale * row[column]:,.{digits}f}{unit}".replace("-", "\N{MINUS SIGN}") + after


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _digits(numbers: pl.Series) -> int:
    """Digits after the point, the same in all rows, that show four of the smallest number.

    >>> _digits(pl.Series([123.4, 5000.0])), _digits(pl.Series([0.5]))
    (1, 4)
    """
    sizes = [abs(number) for number in numbers if _known(number) and number]
    return min(6, max(0, 3 - math.floor(math.log10(min(sizes))))) if sizes else 0


def _number(value: float) -> str:
    """Three digits that matter, or all before the point; a true minus.

    >>> _number(1234.5), _number(12.345), _number(0.001234)
    ('1,234', '12.3', '0.00123')
    """
    if not math.isfinite(value):
        return _ABSENT
    size = abs(value)
    digits = 0 if size >= 100 or size == 0 else min(6, 2 - math.floor(math.log10(size)))
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _pairs(caption: str, values: Mapping[Any, object]) -> str:
    rows = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in _flat("", values)]
    return _table(caption, (), rows, "pairs")


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    """Nested settings as names with dots and texts."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), item)
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(_text(item) for item in value)
    else:
        yield prefix, _text(value)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)


def _section(title: str, note: str, *parts: str) -> str:
    text = f"<p>{note}</p>\n" if note else ""
    return f"<section><h2>{title}</h2>\n{text}{chr(10).join(parts)}\n</section>"


def _table(caption: str, heads: Sequence[str], rows: Sequence[str], kind: str = "plain") -> str:
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    head = f"<thead><tr>{top}</tr></thead>\n" if heads else ""
    label = escape(caption, quote=True)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}"><table class="{kind}">'
        f"<caption>{escape(caption)}</caption>\n{head}<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def _slug(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def _write(path: Path, text: str) -> Path:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #595959; --line: #d5d5d5; --paper: #fff; --tint: #f5f5f3;
  --good: #00694b; --bad: #a83800; --open: #5a5a5a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e6; --soft: #b0b0ac; --line: #444; --paper: #181818;
  --tint: #222; --good: #4fc79d; --bad: #ff9a63; --open: #b5b5b5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 68rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .4rem; }
p { max-width: 46rem; }
section > p, figcaption, footer { color: var(--soft); font-size: .92rem; }
a { color: inherit; }
.counts { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; padding: 0; margin: 1rem 0 0; }
.mark { display: inline-block; width: 1.5em; height: 1.5em; line-height: 1.4em; text-align: center; font-weight: 700;
  border: .1em solid currentColor; border-radius: 50%; }
.holds { color: var(--good); }
.does-not-hold { color: var(--bad); border-radius: .2em; }
.undecided, .not-tested { color: var(--open); border-style: dashed; }
.wide { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); }
tbody th { font-weight: inherit; }
.plain thead th:not(:first-child) { text-align: right; }
.plain th:first-child, .verdict { white-space: nowrap; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.n span { color: var(--soft); font-weight: 400; }
.claims { table-layout: fixed; }
.claims > thead th:first-child { width: 9rem; }
.claims > thead th:nth-child(3) { width: 5.5rem; }
.claims > thead th:nth-child(4) { width: 11.5rem; }
details table { font-size: .8rem; }
details th, details td { padding: .15rem .35rem; }
.claims details thead th:nth-child(2) { text-align: left; }
details td:nth-child(2) { white-space: nowrap; }
.claims > thead th:nth-child(n+3) { text-align: right; }
.claims > tbody > tr > .n small { white-space: normal; }
small { display: block; color: var(--soft); font-size: .82rem; line-height: 1.4; margin-top: .2rem; }
details { margin-top: .3rem; font-size: .85rem; }
summary { cursor: pointer; color: var(--soft); }
.pairs th { width: 15rem; color: var(--soft); }
.pairs td { overflow-wrap: anywhere; }
figure { margin: 0; }
figure .wide { background: #fff; padding: .5rem; border: 1px solid var(--line); border-radius: .4rem; }
img { display: block; width: 100%; min-width: 46rem; height: auto; }
tbody tr:hover { background: var(--tint); }
@media (max-width: 44rem) {
  .claims > thead { position: absolute; clip-path: inset(50%); }
  .claims > tbody > tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .claims > tbody > tr > * { display: block; border: 0; padding: .1rem 0; text-align: left; }
  .claims > tbody > tr > .n { white-space: normal; }
  .claims > tbody > tr > .n small { max-width: none; }
  .claims > tbody > tr > .n::before { content: attr(data-label) " "; color: var(--soft); } }
@media print { body { max-width: none; padding: 0; font-size: 9pt; } .wide { overflow: visible; }
  img { min-width: 0; } tr, figure { break-inside: avoid; } h2, caption { break-after: avoid; }
  details:not([open]) { display: none; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rankfall report</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
<footer><p>Made by Rankfall. The paper: Chang Li, Haoyun Feng, Maarten de Rijke. Cascading Hybrid Bandits: Online
Learning to Rank for Relevance and Diversity. RecSys 2020. <a href="{paper}">{paper}</a></p></footer>
</body>
</html>
"""
