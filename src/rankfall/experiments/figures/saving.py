"""Figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankfall.files import replacing


def save(figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figure as ``stem.png``, ``stem.svg``, ...; the same figure gives the same bytes."""
    written = []
    for kind in formats:
        target = Path(f"{stem}.{kind}")
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        with (
            mpl.rc_context({"svg.hashsalt": "rankfall", "svg.fonttype": "none", "pdf.fonttype": 42}),
            replacing(target) as temporary,
        ):
            figure.savefig(temporary, format=kind, dpi=200, metadata=undated)
        written.append(target)
    return written
