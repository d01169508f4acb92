"""Write users for studies from the click models that the authors of BatchRank fitted to queries of the Yandex log.

    python scripts/yandex_users.py yandex-60q.json out/yandex

The file comes from their public code, and is not ours to pass on. It holds, by click model and query, the arguments of
their simulators: attraction of ten documents first, then the model's own, and last a seed, which is not used. One file
is written for each model, such as ``out/yandex/dbn.json``; in a study::

    [user]
    fitted = "out/yandex/dbn.json"
    reward = "clicks"

Two things are laid out otherwise there. In the last column of their examination nothing above was clicked, in our
first. The number of their dynamic Bayesian network is the probability to abandon, 1 - continuation.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from rankfall.experiments.people import People


def _browsing(attraction: list[float], examination: list[list[float]]) -> dict[str, Any]:
    rows = [[row[-1], *row[:position]] for position, row in enumerate(examination)]
    return {"attraction": attraction, "clicks": "user_browsing", "examination": rows}


WORDS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "CM": lambda attraction: {"attraction": attraction, "clicks": "cascade"},
    "DCM": lambda attraction, stops: {"attraction": attraction, "clicks": "dependent_click", "termination": stops},
    "PBM": lambda attraction, seen: {"attraction": attraction, "clicks": "position_based", "examination": seen},
    "UBM": _browsing,
    "DBN": lambda attraction, satisfaction, abandons: {
        "attraction": attraction,
        "clicks": "dynamic_bayesian",
        "satisfaction": satisfaction,
        "continuation": 1.0 - abandons,
    },
    "CCM": lambda attraction, *goes_on: {"attraction": attraction, "clicks": "click_chain", "continuation": goes_on},
}
"""From the arguments of each of their simulators to the words of our users."""


def people_of(queries: Mapping[str, Any], model: str) -> People:
    """The users of one click model, by query."""
    return People({query: WORDS[model](*fitted["args"][:-1]) for query, fitted in queries.items()})


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
def main(file: Path, out: Path) -> None:
    """Write one file for each model."""
    out.mkdir(parents=True, exist_ok=True)
    for model, queries in json.loads(file.read_text()).items():
        path = out / f"{model.lower()}.json"
        people_of(queries, model).write_json(path)
        click.echo(f"Wrote {path}: {len(queries)} users.")


if __name__ == "__main__":
    main()
