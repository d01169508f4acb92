"""Put what the studies of the field found into docs/field.md and docs/field-results.md.

    rankfall run studies/field/*.toml --out out/field
    python scripts/field_results.py

``make field`` runs both.
"""

import re
import shutil
from pathlib import Path

from marked import fill

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "field"
DOCS = ROOT / "docs"
HEAD = """# The studies of the field, run

Made by `make field`: `rankfall run` on each file in `studies/field`. Regret is the mean over runs ± its standard error;
the slope is that of log regret over log steps in the last decade. [field.md](field.md) says what is what,
and [yandex.md](yandex.md) has the same policies on the queries of their authors.
"""


def main() -> None:
    """Write both pages, and the figure of every policy."""
    tables = {folder.parent.name: folder.read_text() for folder in sorted(OUT.glob("*/table.md"))}
    every = tables.pop("all")
    page = DOCS / "field.md"
    page.write_text(fill(page.read_text(), {"every policy": every[every.index("| case") :].strip()}))
    shutil.copy(OUT / "all" / "figure.png", DOCS / "images" / "field.png")
    pages = [re.sub(r"^# ", "## ", table).strip() + "\n" for table in tables.values()]
    (DOCS / "field-results.md").write_text("\n".join([HEAD, *pages]))


if __name__ == "__main__":
    main()
