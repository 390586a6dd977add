"""How far a long call is, and who hears of it."""

import dataclasses
import io
import math
import sys

import pytest

from lastswitch._utils.progress import Progress, reporter
from lastswitch.errors import InputTypeError


def test_a_callers_function_hears_every_report():
    """It gets the very values that were reported."""
    heard = []
    with reporter(heard.append) as report:
        report(Progress(0.5, done=1, total=3))
        report(Progress(0.9, value=1.0, bound=2.0))
    assert [now.seconds for now in heard] == [0.5, 0.9]
    assert heard[0].total == 3
    assert math.isnan(heard[0].value)
    assert heard[1].done is None
    assert heard[1].gap == 1.0


@pytest.mark.parametrize("nobody", [None, False])
def test_nobody_needs_to_listen(nobody, capsys):
    """Reports then go nowhere."""
    with reporter(nobody) as report:
        report(Progress(0.5))
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_told_is_refused():
    """A number is no listener."""
    refusal = pytest.raises(InputTypeError, match="progress must be None, True or a function")
    with refusal, reporter(3):
        pass


class Terminal(io.StringIO):
    """A stand-in for a screen: text, and the claim to be one."""

    def isatty(self):
        """Say yes."""
        return True


@pytest.mark.parametrize("screen", [Terminal, io.StringIO])
def test_the_bar_is_for_terminals_alone(screen, monkeypatch, capsys):
    """A screen shows what is done; a file that takes standard error stays empty."""
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen())
    with reporter(True, "planning") as report:
        report(Progress(0.5, done=3, total=7, value=1.5, bound=2.0))
    seen = sys.stderr.getvalue()
    if screen is Terminal:
        assert "planning" in seen
        assert "3/7" in seen
        assert "value 1.5000, at most 2.0000" in seen
    else:
        assert seen.strip() == ""
    assert capsys.readouterr().out == ""


def test_progress_is_a_value():
    """A listener may keep it; nothing changes it afterwards."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Progress(0.5).seconds = 1.0
