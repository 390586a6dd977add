"""``lastswitch compare`` runs a sweep, prints its tables and writes its files."""

import pytest

from lastswitch.cli import main

SWEEP = """
horizon = 60
runs = 2

[instances]
paper = "two-arms"
mine = "stationary:0.2,0.7"

[policies.greedy]
type = "OracleGreedy"

[policies.cycle]
type = "FixedCycle"
each = {block = [[0, 1], [0, 1, 1]]}
"""


@pytest.fixture
def folder(tmp_path):
    """Hold a sweep."""
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path


def test_the_command_prints_tables_and_writes_files(folder, capsys):
    """One table per instance, best policy first, and where the rest is."""
    assert main(["compare", str(folder / "sweep.toml"), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("cycle block=[0, 1]") < printed.index("greedy")
    assert "mine" in printed
    written = {path.name for path in (folder / "sweep-results").iterdir()}
    assert written >= {"paper.npz", "paper.csv", "paper-reward.png", "mine-regret.png"}


def test_the_command_fails_in_one_line(folder, capsys):
    """A slip in the file ends with exit code 2 and one sentence."""
    (folder / "sweep.toml").write_text(SWEEP.replace("OracleGreedy", "OracleGreddy"))
    assert main(["compare", str(folder / "sweep.toml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("lastswitch: ")
    assert said.count("\n") == 1
