"""One voice: a plan from fitted curves repeats what the fit said, and what it rests on."""

from __future__ import annotations

import pandas as pd
import pytest

import lastswitch as ls
from lastswitch.cli import main
from lastswitch.logs import find_fit, fit_curves, simulate
from lastswitch.logs.report import plan_words

TRUTH = ls.Bandit([ls.curves.step(2, 0.9, 0.1), ls.curves.constant(0.3)], names=["jazz", "talk"])


@pytest.fixture(scope="module")
def log():
    """Simulate a log that wears out and recovers."""
    return simulate(TRUTH, subjects=60, rounds=40, seed=3)


@pytest.fixture
def fitted(log, tmp_path):
    """Write its fit."""
    fit_curves(log).write(tmp_path / "fitted.toml")
    return tmp_path / "fitted.toml"


def planned(path, capsys, length="6"):
    """Return what ``lastswitch plan --cycle`` prints."""
    assert main(["plan", str(path), "--length", length, "--cycle"]) == 0
    return capsys.readouterr().out


def test_a_plan_repeats_the_answers_and_the_evidence(fitted, capsys):
    """Each arm's answers and events, what the plays rest on, and the gain."""
    text = planned(fitted, capsys)
    assert "wears out: yes, recovers: yes" in text
    assert "Every play rests on at least" in text
    assert "over what the log did" in text
    assert "chosen and valued on different subjects" in text


def test_a_rotation_against_the_evidence_is_named(habit, tmp_path, capsys):
    """Habit: repeats pay more. Resting such an arm is against what the log says."""
    fit = fit_curves(habit)
    fit.write(tmp_path / "brands.toml")
    text = planned(tmp_path / "brands.toml", capsys)
    assert "wears out: reverse" in text
    assert "arm 0 is repeated, which paid more in the log (reverse): habit or" in text
    assert "Against the evidence" not in text
    assert "over always arm 0      +0.0000 (+0.0000 to +0.0000)" in text  # this is that habit
    resting = ls.Bandit([ls.Curve([0.9], [0.0])] * 2, names=fit.bandit.names)
    rotation = ls.plan_cycle(resting, 6)  # one by one, as a habit of its planner's
    against = plan_words(find_fit(tmp_path / "brands.toml"), rotation, "brands.toml")
    assert "Against the evidence: arm 0 is rested before 3 plays, but in the log it" in against


def test_a_plan_the_log_cannot_support_says_so(tmp_path, capsys):
    """Arms seen once per user: whatever is planned rests on nothing."""
    frame = pd.DataFrame(
        {"subject": range(90), "time": 1, "arm": ["a", "b", "c"] * 30, "reward": [1, 1, 0] * 30}
    )
    fit_curves(frame).write(tmp_path / "single.toml")
    text = planned(tmp_path / "single.toml", capsys)
    assert "6 of 6 plays rest on 0 events of 0 subjects: the log cannot support this" in text


def test_the_fit_is_found_by_content_under_any_name(fitted, capsys):
    """Both files renamed, the prediction stays."""
    fitted.rename(fitted.with_name("june.toml"))
    fitted.with_name("fitted.fit.npz").rename(fitted.with_name("something.fit.npz"))
    assert "over what the log did" in planned(fitted.with_name("june.toml"), capsys)


def test_another_bandit_under_the_same_name_has_no_prediction(fitted, capsys):
    """A fit beside it does not make it the fit's."""
    TRUTH.save(fitted)
    assert "over what the log did" not in planned(fitted, capsys)


def test_curves_changed_by_hand_are_said_to_be(fitted, capsys):
    """The mark stays, the numbers do not: predictions no longer apply."""
    text = fitted.read_text()
    assert find_fit(fitted).fit is not None
    fitted.write_text(text.replace('name = "talk"\nrest = [', 'name = "talk"\nrest = [0.99, '))
    found = find_fit(fitted)
    assert (found.fit, found.edited, found.lost) == (None, True, False)
    assert "no longer applies" in planned(fitted, capsys)


def test_a_lost_fit_is_said_to_be_lost(fitted, capsys):
    """The bandit's file alone was copied."""
    fitted.with_name("fitted.fit.npz").unlink()
    assert find_fit(fitted).lost
    assert "their fit is not in the folder" in planned(fitted, capsys)


def test_nothing_is_left_behind_by_an_interrupted_fit(log, tmp_path, monkeypatch):
    """Interrupted while drawing the page: not one file, and the old ones stay as they were."""
    from lastswitch.logs import outputs

    (tmp_path / "fitted.toml").write_text("old")

    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs, "write_page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_curves(log).write(tmp_path / "fitted.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["fitted.toml"]
    assert (tmp_path / "fitted.toml").read_text() == "old"


@pytest.mark.parametrize("name", ["fitted.toml", "fitted.html", "fitted.states.csv"])
def test_an_output_that_is_a_folder_is_refused_before_reading(tmp_path, name, capsys):
    """The log is not even looked for."""
    (tmp_path / name).mkdir()
    assert main(["fit", "nowhere.csv", "--out", str(tmp_path / "fitted.toml")]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_the_command_speaks_of_options(tmp_path, capsys):
    """Not of Python's arguments."""
    path = tmp_path / "log.csv"
    out = ["--out", str(tmp_path / "x.toml")]
    path.write_text("subject,time,arm,reward\nann,2024-01-01,jazz,5\nann,2024-01-02,jazz,1\n")
    assert main(["fit", str(path), *out]) == 2
    assert "--scale minmax" in capsys.readouterr().err
    path.write_text("subject,time,arm,reward\nann,03/04/2024,jazz,yes\n")
    assert main(["fit", str(path), *out]) == 2
    said = capsys.readouterr().err
    assert "--time-format '%d/%m/%Y'" in said
    assert "time_format" not in said
    words = ["--time-format", "%d/%m/%Y", "--reward-words", "yes=1,no=0"]
    assert main(["fit", str(path), *words, *out]) == 0


def test_a_table_of_many_arms_prints_a_dozen(tmp_path, capsys):
    """And says where the others are."""
    path = tmp_path / "log.csv"
    rows = [f"s{k % 7},{k},arm {k % 30:02d},1" for k in range(300)]
    path.write_text("subject,time,arm,reward\n" + "\n".join(rows) + "\n")
    assert main(["fit", str(path), "--out", str(tmp_path / "many.toml")]) == 0
    printed = capsys.readouterr().out
    assert printed.count("arm ") < 30
    assert "and 18 more arms, played less: all are in" in printed
