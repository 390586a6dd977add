"""From a fitted log to a calendar on the command line."""

import lastswitch as ls
from lastswitch.cli import main


def test_a_plan_of_a_fitted_bandit_says_what_it_would_gain(tmp_path, capsys):
    """`lastswitch plan` finds the fit beside the bandit's file; a bandit by hand has none."""
    truth = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)], names=["jazz", "talk"])
    log = ls.logs.simulate(truth, subjects=40, rounds=50, seed=3)
    ls.fit_curves(log).write(tmp_path / "fitted.toml")
    assert main(["plan", str(tmp_path / "fitted.toml"), "--length", "9"]) == 0
    assert "over what the log did" in capsys.readouterr().out

    truth.save(tmp_path / "by-hand.toml")
    assert main(["plan", str(tmp_path / "by-hand.toml"), "--length", "9"]) == 0
    assert "over what the log did" not in capsys.readouterr().out
