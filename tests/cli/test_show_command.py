"""``lastswitch show`` prints the curves and draws them."""

from __future__ import annotations

import pytest

from lastswitch import Bandit, Curve
from lastswitch.cli import main
from lastswitch.model.instances import INSTANCES


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return a function that runs the command and gives its exit code, output and errors."""

    def show(*arguments: object, width: int = 100) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        code = main(["show", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return show


def row(output: str, name: str) -> list[str]:
    """Return the cells after ``name`` in the table."""
    line = next(line for line in output.splitlines() if line.strip().startswith(f"{name} "))
    return line.strip().removeprefix(name).split()


def test_the_table_holds_the_values_by_state(shown):
    """Streak left of the bar, rest right of it, what comes after in the last column."""
    code, output, _ = shown("five-arms")
    assert code == 0
    assert row(output, "arm") == ["−1", "│", *"12345678", "then"]
    assert row(output, "arm 0") == ["0", "│", "0", "0.95", *"000000", "holds"]
    assert row(output, "arm 1")[-3:] == ["0.14", "0.96", "holds"]


def test_the_settings_are_said_in_words(shown, tmp_path):
    """Noise and start are part of a bandit."""
    bandit = Bandit(
        [Curve([1], [0]), Curve([1], [0.5])], "gaussian", ["a b", "[red]c"], [1, -3], 0.25
    )
    _, output, _ = shown(bandit.save(tmp_path / "two.toml"))
    assert "2 arms, gaussian rewards (sigma 0.25), starting at τ = [1, −3]." in output
    assert row(output, "[red]c") == ["0.5", "│", "1", "holds"]


def test_a_season_is_said_to_repeat(shown, tmp_path):
    """The last column tells seasons from plateaus."""
    bandit = Bandit([Curve([0.1, 0.9], [0], "repeat")])
    _, output, _ = shown(bandit.save(tmp_path / "season.json"))
    assert row(output, "arm 0") == ["0", "│", "0.1", "0.9", "repeats"]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_deep_curves_are_cut_to_the_terminal(shown, width):
    """No line is wider than the screen, and an ellipsis says that there is more on each side."""
    _, output, _ = shown("random:satiating:3:40:0", width=width)
    assert max(map(len, output.splitlines())) <= width
    cells = row(output, "arm 2")
    assert cells[0] == cells[-1] == "…"
    assert all(len(cell) <= 5 for cell in cells)
    assert not any("…" in cell for cell in cells[1:-1])


@pytest.mark.parametrize("text", INSTANCES.values())
def test_every_instance_can_be_shown(shown, text):
    """What is listed works."""
    code, output, _ = shown(text)
    assert code == 0
    assert "then" in output


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_figure_is_drawn_where_asked(shown, tmp_path, suffix, magic):
    """The suffix chooses the format, and the path is printed."""
    path = tmp_path / f"five.arms.{suffix}"
    code, output, _ = shown("five-arms", "--figure", path)
    assert code == 0
    assert path.read_bytes().startswith(magic)
    assert "Drawn in" in output
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["five-arm"], "did you mean 'five-arms'?"),
        (["nowhere.toml"], "nowhere.toml does not exist"),
        (["pinwheel:0"], "periods[0] must be a whole number of at least 1, got 0"),
        (["five-arms", "--figure", "five.gif"], "a figure must end in .png, .svg or .pdf"),
        (["five-arms", "--figure", "missing/five.png"], "the folder missing does not exist"),
    ],
)
def test_mistakes_are_one_line_on_stderr_and_exit_code_2(
    shown, tmp_path, monkeypatch, arguments, message
):
    """Nothing is printed or drawn before the arguments are known to be right."""
    monkeypatch.chdir(tmp_path)
    code, output, errors = shown(*arguments)
    assert code == 2
    assert output == ""
    assert errors.startswith("lastswitch: ")
    assert message in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())
