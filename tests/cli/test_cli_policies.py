from click.testing import CliRunner

from rankfall import POLICIES
from rankfall.cli import app


def test_the_list_of_policies() -> None:
    shown = CliRunner().invoke(app, ["policies", "--plain"])
    assert shown.output.split() == list(POLICIES)
    table = CliRunner().invoke(app, ["policies"], env={"COLUMNS": "200"})
    assert table.exit_code == 0
    assert f"{len(POLICIES)} policies" in table.output
