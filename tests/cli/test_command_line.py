"""The command line as a whole: one line for a mistake, one for Ctrl-C, help for nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from lastswitch.cli import INTERRUPTED, main

RUN = (
    "import signal, sys; from lastswitch.cli import main; "
    "signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shw"], "No such command 'shw'. Did you mean 'show'? See lastswitch --help."),
        (["show"], "Missing argument 'FILE|INSTANCE'. See lastswitch show --help."),
        (["show", "five-arms", "--figre", "x"], "No such option: --figre"),
        (["plan", "five-arms", "--length", "many"], "Invalid value for '--length'"),
        (["plan", "five-arms", "--length", "0"], "length"),
        (["plan", "two-arms", "--length", "3", "--start", "1,0"], "no arm is at 0"),
        (["plan", "two-arms", "--length", "3", "--start", "soon"], "'initial', 'unknown' or"),
        (["show", "nowhere.toml"], "nowhere.toml does not exist; check the path."),
        (["compare", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(capsys, arguments, message):
    """Whoever notices it, the parser or the library."""
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("lastswitch: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_no_arguments_mean_help(capsys):
    """As --help does, and successfully."""
    assert main([]) == 0
    assert "reproduce" in capsys.readouterr().out


def test_the_version_is_printed(capsys):
    """An option of no command."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("lastswitch ")


def test_ctrl_c_is_one_line_and_exit_code_130(tmp_path):
    """Interrupted while it waits for its file, the command says so and nothing more."""
    pipe = tmp_path / "bandit.toml"
    os.mkfifo(pipe)
    command = subprocess.Popen(
        [sys.executable, "-c", RUN, "show", str(pipe)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w"):  # opens once the command has opened it to read
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate()
    assert (command.returncode, output) == (INTERRUPTED, "")
    assert errors == "lastswitch: interrupted.\n"


def test_ctrl_c_while_the_command_still_loads_is_no_different():
    """A real SIGINT, sent the moment the parser is first imported."""
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Impatient:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from lastswitch.__main__ import entry\n"
        "entry()\n"
    )
    command = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert command.returncode == INTERRUPTED
    assert (command.stdout, command.stderr) == ("", "lastswitch: interrupted.\n")


def test_a_reader_that_leaves_early_is_no_error():
    """As in ``lastswitch show five-arms | true``."""
    read, write = os.pipe()
    os.close(read)
    command = subprocess.run(
        [sys.executable, "-c", RUN, "show", "five-arms"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert command.stderr == ""
    assert command.returncode in (0, 1)
