"""A made-up file of fitted queries, in the layout of BatchRank's authors."""

import json
from pathlib import Path

import numpy as np


def write_queries(file: Path, count: int = 12) -> Path:
    """Click models of so many queries with ten documents each."""
    rng = np.random.default_rng(0)

    def by_query(*more):
        return {f"q{n}": {"args": [rng.random(10).tolist(), *(one() for one in more), 1]} for n in range(count)}

    made = {model: by_query(lambda: np.linspace(1, 0.3, 10).tolist()) for model in ("DCM", "PBM")}
    made["CM"] = by_query()
    table = np.tril(rng.random((10, 10)), -1)
    table[:, -1] = 0.9  # nothing clicked above
    made["UBM"] = by_query(table.tolist)
    made["DBN"] = by_query(lambda: rng.random(10).tolist(), lambda: 0.1)
    made["CCM"] = by_query(lambda: 0.9, lambda: 0.8, lambda: 0.1)
    file.write_text(json.dumps(made))
    return file
