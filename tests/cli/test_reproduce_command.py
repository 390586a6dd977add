"""``lastswitch reproduce`` translates; the library redoes the paper."""

from __future__ import annotations

import pytest

from lastswitch.cli import main

#: One process runs these and the tests of what is reproduced.
pytestmark = pytest.mark.xdist_group("reproduction")


def test_the_command_prints_what_it_found_and_where(reproduced):
    """Tables, conclusions, and the report to open."""
    folder, printed = reproduced
    assert "RotationUCB" in printed
    assert "•" in printed
    assert str(folder / "report.html") in "".join(printed.split())


def test_a_horizon_of_nothing_is_one_line_and_exit_code_2(tmp_path, capsys):
    """Before anything is run or written."""
    assert main(["reproduce", "--horizon", "0", "--out", str(tmp_path / "found")]) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert "horizon" in errors
    assert not (tmp_path / "found").exists()
