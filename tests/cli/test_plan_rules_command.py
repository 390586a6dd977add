"""``lastswitch plan`` keeps the rules of the file, and explains them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastswitch.cli import main

RADIO = """
[[arms]]
name = "hello"
rest = [0.3, 0.9]
streak = [0.1]

[[arms]]
name = "skyfall"
rest = [0.5, 0.6]
streak = [0.2]

[[arms]]
name = "talk"
rest = 0.4
streak = 0.4

[groups]
Adele = ["hello", "skyfall"]

[[rules]]
rule = "apart"
who = "Adele"
rounds = 3
"""


@pytest.fixture
def radio(tmp_path: Path) -> Path:
    """Return a file with a rule."""
    file = tmp_path / "radio.toml"
    file.write_text(RADIO)
    return file


def test_the_rules_of_the_file_are_kept_and_explained(
    radio: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan first, then what each rule costs."""
    assert main(["plan", str(radio), "--length", "6", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "proven optimal" in out
    assert "Adele: any two plays at least 3 rounds apart\n  costs" in out


def test_a_history_is_seen(radio: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Played in the last round, the artist waits for two."""
    command = ["plan", str(radio), "--length", "3", "--history"]
    assert main([*command, "talk,,hello"]) == 0
    assert "0-2  talk   talk" in capsys.readouterr().out
    assert main([*command, "hallo"]) == 2
    assert "did you mean 'hello'" in capsys.readouterr().err


def test_rules_that_clash_are_named(radio: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code two, the smallest conflicting set, and what dropping each rule allows."""
    radio.write_text(RADIO + '\n[[rules]]\nrule = "never"\nwho = "talk"\n')
    assert main(["plan", str(radio), "--length", "4"]) == 2
    err = capsys.readouterr().err
    assert "apart('Adele', 3) and never('talk') cannot hold together" in err
    assert "without never('talk') the best plan is worth" in err
