"""Every count adds up, and only what the caller calls a copy is one."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.logs import fit_curves

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", ""]),
        st.sampled_from(["2024-01-01", "2024-01-02", "2024-01-02 12:00", "2024-01-04", "soon"]),
        st.sampled_from(["jazz", "talk", " "]),
        st.sampled_from(["0", "1", "0.5", "lots"]),
        st.sampled_from(["x", "y"]),
    ),
    min_size=1,
    max_size=25,
)


@given(EVENTS, st.sampled_from([{}, {"every": "1d"}, {"order": 1}]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_rows_are_used_or_left_out_by_kind(events, how, drop):
    """Here rows = plays + joined + left out, and plays are the sum of the arms' events."""
    good = ("cas", "2024-01-01", "jazz", "1", "z")  # so that something can be fitted
    frame = pd.DataFrame([good, *events], columns=["subject", "time", "arm", "reward", "note"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_curves(frame, copies="drop" if drop else "keep", **how)
    summary = fit.summary
    assert summary.rows == len(frame)
    assert summary.rows == summary.plays + summary.merged + summary.left_out
    assert summary.plays == sum(arm.events for arm in fit.arms) == fit.counts.events.sum()
    copies = len(frame) - len(frame.drop_duplicates())
    found = {entry.kind: entry.count for entry in summary.bad}.get("copy", 0)
    assert (found if drop else 0) == (copies if drop else 0)


def test_different_events_of_one_second_are_not_copies():
    """Equal in the four named columns, but of another movie: both count."""
    frame = pd.DataFrame(
        {"time": [1, 1, 2], "arm": "comedy", "reward": 1, "movie": ["Heat", "Speed", "Heat"]}
    )
    for copies in ("keep", "drop"):
        fit = fit_curves(frame, subject=None, copies=copies, order=0)
        assert (fit.summary.plays, fit.summary.copies) == (3, 0)


def test_copies_are_kept_and_counted_unless_dropped():
    """Two rows equal in every column are one event only if the caller says so."""
    frame = pd.DataFrame({"time": [1, 1, 2], "arm": "a", "reward": [1, 1, 0]})
    kept = fit_curves(frame, subject=None, order=0)
    assert (kept.summary.plays, kept.summary.copies, kept.summary.left_out) == (3, 1, 0)
    assert "copies='drop'" in "\n".join(kept.summary.notices)
    with pytest.warns(UserWarning, match="1 × copy of another row"):
        dropped = fit_curves(frame, subject=None, copies="drop")
    assert (dropped.summary.plays, dropped.summary.left_out) == (2, 1)


def test_a_days_mean_counts_every_event():
    """Dropping rows that look alike would bias a day's mean."""
    rng = np.random.default_rng(1)
    paid = (rng.random(4000) < 0.9).astype(int)
    frame = pd.DataFrame(
        {"who": np.arange(4000) // 20, "time": "2024-01-01", "arm": "a", "reward": paid}
    )
    fit = fit_curves(frame, subject="who", every="1d")
    assert fit.log_mean == pytest.approx(paid.mean())


def test_an_arm_whose_rewards_are_all_missing_does_not_stop_the_others():
    """It is named, and its plays still rest the others."""
    frame = pd.DataFrame(
        {"time": range(6), "arm": ["a", "b"] * 3, "reward": [1, None, 0, None, 1, None]}
    )
    with pytest.warns(UserWarning, match="3 × reward not a number"):
        fit = fit_curves(frame, subject=None)
    assert fit.counts.names == ("a",)
    assert fit.summary.silent == ("b",)
    assert fit.counts.pooled.events[0, 1] == 2
