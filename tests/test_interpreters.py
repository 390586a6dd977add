"""The README's Python and the commands work however Python is run, and wherever it prints."""

import os
import subprocess
import sys

import pytest

import lastswitch as ls
from test_docs import ROOT, examples

#: A terminal that knows ASCII only; Python is told not to help itself to UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
WAYS = {
    "optimised": (["-O"], {}),
    "developing": (["-X", "dev", "-W", "error"], {}),
    "ascii locale": ([], ASCII),
    "ascii output": ([], {"PYTHONIOENCODING": "ascii"}),
}


def python(folder, *arguments, **environment):
    """Run Python in ``folder``; return what it wrote as bytes."""
    settings = {**os.environ, "LOKY_MAX_CPU_COUNT": "1", **environment}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=settings, capture_output=True, timeout=300
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_readme_runs(way, tmp_path):
    """Every Python block of the README, as one script."""
    found = examples(ROOT / "README.md")
    for example in found:
        if example.language.startswith("toml"):
            (tmp_path / example.language.split('"')[1]).write_text(example.code, encoding="utf-8")
    code = "\n".join(example.code for example in found if example.language == "python")
    script = f'if __name__ == "__main__":\n    exec({code!r})\n'
    (tmp_path / "readme.py").write_text(script, encoding="utf-8")
    flags, environment = WAYS[way]
    run = python(tmp_path, *flags, "readme.py", **environment)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    assert run.stdout


@pytest.mark.parametrize("way", ["ascii locale", "ascii output"])
def test_commands_print_where_only_ascii_can_be(way, tmp_path):
    """Tables keep their columns, our signs become ASCII, a letter that has none a question mark."""
    bandit = ls.Bandit([([0.25, 0.5], [0.125])], names=["Café"])
    bandit.save(tmp_path / "radio.toml")
    environment = WAYS[way][1]
    run = python(tmp_path, "-m", "lastswitch", "show", "radio.toml", **environment)
    assert (run.returncode, run.stderr) == (0, b"")
    text = run.stdout.decode("ascii")
    (row,) = [line for line in text.splitlines() if "Caf" in line]
    assert row.replace("|", " ").split() == ["Caf?", "0.125", "0.25", "0.5", "holds"]
    assert "-1" in text
    assert "tau = 1" in text
    plain = python(tmp_path, "-m", "lastswitch", "show", "radio.toml", PYTHONIOENCODING="utf-8")
    assert "τ = 1" in plain.stdout.decode()


def test_what_is_printed_in_python_is_plain_too(tmp_path):
    """Our own signs only: a name that cannot be printed is its owner's to deal with."""
    code = (
        "import lastswitch as ls\n"
        "quiet = ls.Bandit([([0.9], [0.0])], names=['a'], plays=(0, 1), silence=0.5)\n"
        "plan = ls.plan_block(quiet, 3)\n"
        "print(plan)\n"
        "print(plan.calendar(ls.Calendar('2024-06-03')))\n"
        "print(str(ls.Plan((0,), 1.0, 1.0, names=('Caf\\u00e9',))).isascii())\n"
    )
    run = python(tmp_path, "-c", code, **ASCII)
    assert run.returncode == 0, run.stderr.decode()
    assert b"a  .  a" in run.stdout
    assert run.stdout.endswith(b"False\n")
    assert "a  ·  a" in python(tmp_path, "-c", code, PYTHONIOENCODING="utf-8").stdout.decode()
