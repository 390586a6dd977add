"""The gallery's scripts run, and their pictures say what the gallery's text says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import lastswitch as ls

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"


def script(name: str) -> dict:
    """Return the names a script of the gallery defines."""
    return runpy.run_path(str(GALLERY / f"{name}.py"))


def test_the_rotation_figure_is_drawn_where_asked(tmp_path, monkeypatch, capsys):
    """Run as a person would run it."""
    path = tmp_path / "rotation.svg"
    monkeypatch.setattr(sys, "argv", ["fatigue_and_recovery.py", "--out", str(path)])
    script("fatigue_and_recovery")["main"]()
    assert path.stat().st_size > 10_000
    assert "Drawn in" in capsys.readouterr().out


def test_the_best_rotation_earns_half_as_much_again_as_greed():
    """The gallery's text says so."""
    names = script("fatigue_and_recovery")
    bandit = names["MESSAGES"]
    greed = ls.blocks.block_pays(bandit, names["greedy"](bandit, 2000)).mean()
    assert ls.optimal_average(bandit).value / greed == pytest.approx(1.5, abs=0.05)


def test_the_race_draws_every_learner():
    """Each has a line above and a row below."""
    names = script("learning_race")
    above, below = names["draw"](rounds=60, runs=1, n_jobs=1, progress=False).axes
    labels = {text.get_text() for text in above.texts}
    rows = [label.get_text() for label in below.get_yticklabels()]
    assert set(names["LEARNERS"]) <= labels
    assert rows == ["best rotation", *names["LEARNERS"]]


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.py")), ids=lambda path: path.stem)
def test_every_script_has_its_picture_in_the_gallery(path):
    """A script without a picture is not in the gallery."""
    assert f"({path.stem}.png)" in (GALLERY / "index.md").read_text(encoding="utf-8")


def test_the_ruled_day_is_proven_and_some_rules_cost_nothing():
    """The picture's title says proven; its bars show both kinds of rules."""
    names = script("ruled_radio")
    plan = ls.plan_block(names["RADIO"], names["ROUNDS"], rules=names["RULES"])
    assert plan.optimal
    costs = [report.most for report in plan.explain().rules]
    assert any(cost > 0 for cost in costs)
    assert any(cost == 0 for cost in costs)
    assert len(names["draw"]().axes) == 2


def test_six_messages_a_week_are_free_and_three_cost_a_third():
    """The gallery's text says so; and three of the six rules clash."""
    names = script("rule_price")

    def month(cap):
        rules = [ls.rules.at_most("everyone", cap, within=7)]
        return ls.plan_block(names["MESSAGES"], names["DAYS"], rules=rules).value

    assert month(6) == pytest.approx(month(7))
    assert month(3) / month(7) == pytest.approx(2 / 3, abs=0.05)
    assert len(names["clash"](names["Figure"]().subplots()).conflict) == 3
