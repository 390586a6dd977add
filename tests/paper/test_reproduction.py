"""The paper in one call: files, figures, and conclusions that follow the numbers."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import lastswitch as ls
from lastswitch.errors import ExperimentError
from lastswitch.experiments.plots import spread
from lastswitch.paper.figures import COLOURS, PICTURES, figure_1
from lastswitch.paper.findings import Finding, conclusions, settled, total_at
from lastswitch.paper.reproduction import reproduce
from lastswitch.paper.settings import paper_experiments
from lastswitch.paper.table_1 import RESTS, STREAKS, Cell, measure_cell

#: One process runs all of these, so that the paper is reproduced once.
pytestmark = pytest.mark.xdist_group("reproduction")


@pytest.fixture(scope="module")
def results(reproduced):
    """Return the folder of the paper reproduced, small."""
    return reproduced[0]


@pytest.fixture(scope="module")
def told(results):
    """Return the summary."""
    return json.loads((results / "summary.json").read_text())


@pytest.fixture(scope="module")
def five(results):
    """Return the comparison on the five arms."""
    return ls.load_comparison(results / "five-arms.npz")


def test_everything_is_written(results):
    """Six figures in three formats, two comparisons, a summary and a report; nothing left over."""
    figures = {path.name for path in (results / "figures").iterdir()}
    assert figures == {f"{p.name}.{kind}" for p in PICTURES for kind in ("png", "svg", "pdf")}
    files = {path.name for path in results.iterdir()}
    assert files == {"figures", "five-arms.npz", "two-arms.npz", "summary.json", "report.html"}


def test_the_report_stands_alone(results):
    """No script, and nothing is fetched from anywhere: images are inside."""
    page = (results / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', page)
    assert len(sources) == len(PICTURES)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "<script" not in page
    assert "url(" not in page
    assert 'name="viewport"' in page


def test_the_report_tells_what_was_concluded_and_that_it_is_a_quick_look(results, told):
    """Every conclusion of the summary is in the page, and the banner too."""
    page = (results / "report.html").read_text().replace("&#39;", "'")
    assert len(told["conclusions"]) >= 6
    assert all(line in page for line in told["conclusions"])
    assert "not the paper's settings" in " ".join(page.split())


def test_the_summary_holds_the_numbers_of_the_comparisons(five, told):
    """Shares and totals are those of the saved comparisons."""
    rows = [row for row in told["findings"] if row["experiment"] == "Five arms"]
    assert [row["policy"] for row in rows] == list(five.policies)
    for row in rows:
        assert row["share"] == pytest.approx(float(five.share(row["policy"]).mean))
        assert row["total"] == pytest.approx(float(five.total(row["policy"]).mean))


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """Before anything is run."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ExperimentError, match="cannot keep results"):
        reproduce(tmp_path / "file", quick=True, horizon=20, n_jobs=1, progress=False)


def test_the_paper_is_run_at_the_paper_settings():
    """Horizons, runs, block sizes, exploration and orders as printed."""
    parts = paper_experiments()
    five, two = parts["five-arms"].experiment, parts["two-arms"].experiment
    assert (five.horizon, two.horizon, five.runs, two.runs) == (5112, 5060, 10, 10)
    lengths = {
        (key, name): factory.keywords["length"]
        for key, part in parts.items()
        for name, factory in part.experiment.policies.items()
        if "length" in getattr(factory, "keywords", {})
    }
    assert lengths == {
        ("five-arms", "ISI-CombUCB1"): 4,
        ("five-arms", "CombUCB1"): 3,
        ("five-arms", "CS-worst"): 3,
        ("five-arms", "CS-best"): 3,
        ("two-arms", "ISI-CombUCB1"): 11,
        ("two-arms", "CombUCB1"): 10,
    }
    assert all(five.horizon % size == 0 for size in (3, 4, 8))
    assert all(two.horizon % size == 0 for size in (10, 11))


def test_no_rounds_at_all_are_refused(tmp_path):
    """Zero is not taken for "as the paper", and nothing is written."""
    with pytest.raises(ExperimentError, match="horizon must be a whole number of at least 1"):
        reproduce(tmp_path / "results", horizon=0, progress=False)
    assert not (tmp_path / "results").exists()


def test_the_limits_are_what_the_schedules_pay():
    """What the paper says a policy settles at is what its block pays when repeated."""
    parts = paper_experiments()
    five, two = ls.instances.five_arms(), ls.instances.two_arms()
    limits = parts["five-arms"].limits["ISI-CombUCB1"][0]
    assert limits == pytest.approx(ls.cycle_reward(five, [0, 2, 2, 0]) / 4)
    nine = parts["five-arms"].limits["OracleGreedy"][0]
    assert nine == pytest.approx(ls.cycle_reward(five, [1] + [2] * 8) / 9)
    assert parts["two-arms"].limits["ISI-CombUCB1"][0] == pytest.approx(
        ls.cycle_reward(two, [0, 1] * 5 + [0]) / 11
    )
    assert parts["two-arms"].limits["CombUCB1"][0] == pytest.approx(
        ls.cycle_reward(two, [0, 1]) / 2
    )


def finding(experiment, policy, total, **changes):
    """Return a finding with the given total and unremarkable rest."""
    base = Finding(
        experiment, policy, 0.24, "", total / 1000, total, 1.0, 1000, total, 1.0, total, 1.0,
        total / 3000, 0.01, 3000 - total, 1.0, (total, total),
    )  # fmt: skip
    return replace(base, **changes)


def story(**totals):
    """Return the conclusions from made-up five-arm totals."""
    given = {"ISI-CombUCB1": 1500, "CombUCB1": 700, "OracleGreedy": 750, "CS-worst": 600,
             "CS-best": 1000, "RotationUCB": 2500} | totals  # fmt: skip
    rows = [finding("Five arms", name, total) for name, total in given.items()]
    rows += [
        finding("Two arms", name, total)
        for name, total in (
            ("ISI-CombUCB1", 1200),
            ("CombUCB1", 1400),
            ("OracleGreedy", 180),
            ("RotationUCB", 2400),
        )
    ]
    cells = [Cell("arbitrary", "constant", "K", 2, 2.0, 2.0, 1.0)]
    return " ".join(conclusions(rows, cells))


def test_conclusions_follow_the_numbers():
    """Other numbers, other sentences."""
    assert "as the paper says" in story()
    assert "unlike in the paper" in story(CombUCB1=1600)
    assert "Calibration sequences stand below it" in story()
    assert "elsewhere than in the paper" in story(**{"CS-best": 1600})


def test_a_broken_bound_would_be_said():
    """A loss above its bound is told as a contradiction, not passed over."""
    rows = [finding("Five arms", name, 100) for name in COLOURS]
    rows += [finding("Two arms", name, 100) for name in COLOURS]
    bad = [Cell("arbitrary", "constant", "K", 2, 2.0, 3.0, 1.0)]
    assert "Table 1 is contradicted" in conclusions(rows, bad)[-1]


@pytest.mark.parametrize("rest", RESTS)
@pytest.mark.parametrize("streak", STREAKS)
def test_no_cell_of_table_1_is_exceeded(rest, streak):
    """Measured losses stay within the bound; the vacuous cells lose all of it."""
    cell = Cell(**measure_cell(rest, streak, samples=120, seed=3))
    assert cell.measured <= cell.bound + 1e-9
    if cell.vacuous:
        assert cell.made == cell.bound == cell.length


def test_totals_between_checkpoints_and_settled_rates():
    """A schedule that pays 1 every second round has collected half the rounds at any time."""
    bandit = ls.Bandit([([1.0], [0.0]), ([0.0], [0.0])], noise="none")
    made = {"turns": lambda: ls.FixedCycle([0, 1])}
    found = ls.compare(bandit, made, 2000, 2, n_jobs=1, progress=False)
    assert total_at(found, "turns", 1003) == pytest.approx([501.5] * 2, abs=1)
    assert settled(found, "turns") == pytest.approx(0.5, abs=0.01)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.01, 0.2))
def test_labels_never_touch_and_keep_their_order(heights, gap):
    """Labels are at least a gap apart, in the order of their lines."""
    places = np.array(spread(heights, gap))
    order = np.argsort(heights, kind="stable")
    assert (np.diff(places[order]) >= gap - 1e-9).all()
    assert places.mean() == pytest.approx(np.mean(heights), abs=1e-9)


@pytest.mark.parametrize("what", ["reward", "regret", "average"])
def test_figures_name_every_line(five, what):
    """Each policy is written at the end of its line, and axes speak in words."""
    axes = Figure().subplots()
    assert five.plot(what, ax=axes) is axes
    written = {text.get_text() for text in axes.texts}
    assert written >= set(five.policies)
    assert axes.get_xlabel() == "round"


def test_a_view_that_is_not_there_is_refused(five):
    """The nearest name is suggested."""
    with pytest.raises(ExperimentError, match="did you mean 'regret'"):
        five.plot("regrets")


def test_figure_1_compares_the_two_models():
    """LSD on the left, delays on the right; curves above, moves below."""
    figure = figure_1()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["LSD bandits", "Delay-dependent rewards", "", ""]
    lines = [[line.get_xydata() for line in axes.lines] for axes in figure.axes[:2]]
    streak_side = [{y for line in panel for x, y in line if x < 0} for panel in lines]
    assert len(streak_side[0]) > 2 * len(streak_side[1])
