"""What a fit leaves behind, from the library and from the command line."""

from __future__ import annotations

import csv
import re

import pytest

import lastswitch as ls
from lastswitch.cli import main
from lastswitch.logs import CAUTION, fit_curves, predicted_gain, simulate
from lastswitch.logs.outputs import page

TRUTH = ls.Bandit(
    [ls.curves.recovering(0.8, 4), ls.curves.constant(0.3)], names=["<b>jazz</b>", "talk/live"]
)


pytestmark = pytest.mark.xdist_group("log_outputs")  # what they share is made once


@pytest.fixture(scope="module")
def log():
    """Simulate a small log."""
    return simulate(TRUTH, subjects=30, rounds=30, seed=1)


@pytest.fixture(scope="module")
def fit(log):
    """Fit it."""
    return fit_curves(log, every="1d")


@pytest.fixture(scope="module")
def files(fit, tmp_path_factory):
    """Write everything once."""
    folder = tmp_path_factory.mktemp("fit")
    return {path.name: path for path in fit.write(folder / "radio.toml")}


def test_the_bandit_file_is_the_fitted_bandit(fit, files):
    """What the planner reads is what was fitted."""
    assert ls.load_bandit(files["radio.toml"]) == fit.bandit


def test_the_fit_lies_beside_the_bandit_for_predicted_gains(fit, files):
    """A gain from the files equals one from the fit."""
    assert predicted_gain(files["radio.toml"], [0, 1]) == predicted_gain(fit, [0, 1])


def test_the_table_has_a_row_for_every_state(fit, files):
    """Names, states and counts are in the CSV."""
    rows = list(csv.DictReader(files["radio.states.csv"].read_text().splitlines()))
    assert sum(int(row["events"]) for row in rows) == fit.counts.events.sum()
    assert {row["arm"] for row in rows} == set(TRUTH.names)
    assert [row["tau"] for row in rows if row["tau"] == "first"] == ["first"] * 2


def test_there_is_a_figure_for_every_arm(files):
    """Names that are no file names become ones."""
    assert sorted(name for name in files if name.endswith(".png")) == [
        "01-b-jazz-b.png",
        "02-talk-live.png",
    ]


def test_the_page_stands_alone_and_warns(files):
    """Nothing is fetched, names are escaped, and the caution is there."""
    text = files["radio.html"].read_text()
    assert not re.search(r'(src|href)="(?!#)', re.sub(r"<svg.*?</svg>", "", text, flags=re.S))
    assert not re.search(r"@import|url\((?!#)", text)
    assert "<b>jazz</b>" not in text
    assert CAUTION[:40] in text
    assert text.count("<svg") == 2


def test_identifiers_of_figures_do_not_clash(files):
    """Two figures on one page keep their own clips and markers."""
    found = re.findall(r'\bid="([^"]+)"', files["radio.html"].read_text())
    assert len(found) == len(set(found))


def test_bad_rows_are_on_the_page(log):
    """Kinds and examples are shown, escaped."""
    frame = log.to_pandas().astype({"reward": object})
    frame.loc[3, "reward"] = "<i>lots</i>"
    frame["reward"] = frame["reward"].astype(str)
    with pytest.warns(UserWarning, match="bad rows"):
        text = page(fit_curves(frame), figures={})
    assert "reward not a number" in text
    assert "&lt;i&gt;lots" in text


def test_a_figure_can_be_drawn_by_name(fit):
    """The title is the arm's."""
    assert fit.plot("talk/live").axes[0].get_title(loc="left") == "talk/live"


def test_the_command_goes_from_a_file_to_a_bandit(log, tmp_path, capsys):
    """One command, its notices, and the next command to run."""
    path, out = tmp_path / "log.csv", tmp_path / "radio.toml"
    log.to_pandas().to_csv(path, index=False)
    with path.open("a") as file:
        file.write("31,someday,talk/live,1,0.5\n")
    assert main(["fit", str(path), "--every", "1d", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert ls.load_bandit(out).names == tuple(sorted(TRUTH.names))
    assert "time missing or unreadable" in printed
    assert "logs are not experiments" in " ".join(printed.split()).lower()
    assert "lastswitch plan" in printed


def test_the_command_is_strict_when_asked(log, tmp_path, capsys):
    """A bad row is an error of one line or a few, and exit code 2."""
    path = tmp_path / "log.csv"
    path.write_text("subject,time,arm,reward\nann,soon,jazz,1\nann,2024-01-01,jazz,1\n")
    assert main(["fit", str(path), "--strict", "--out", str(tmp_path / "x.toml")]) == 2
    assert "1 bad rows" in capsys.readouterr().err
    assert not (tmp_path / "x.toml").exists()


def test_the_log_is_never_written_over(log, tmp_path, capsys):
    """A log that happens to be called like an output is safe."""
    path = tmp_path / "radio.states.csv"
    log.to_pandas().to_csv(path, index=False)
    before = path.read_bytes()
    assert main(["fit", str(path), "--out", str(tmp_path / "radio.toml")]) == 2
    assert "never written to" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_target_that_cannot_be_written_is_refused_before_reading(tmp_path, capsys):
    """The log is not even looked for."""
    assert main(["fit", "nowhere.csv", "--out", str(tmp_path / "no" / "x.toml")]) == 2
    assert "does not exist" in capsys.readouterr().err
