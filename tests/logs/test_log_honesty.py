"""Coin flips in disguise: nothing is found, nothing is gained, at the promised rates.

Every draw is fixed by a seed, so each test has one outcome; the bounds are those that an honest
method would miss in one of a hundred choices of seeds, or fewer. ``python -m benchmarks.logs`` does
the same on hundreds of logs of full size.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

import lastswitch as ls
from lastswitch.logs import fit_curves, predicted_gain, support
from lastswitch.logs.questions import pooled_contrast
from lastswitch.logs.within import strata_of
from lastswitch.logs.worlds import DISGUISES, READINGS, coin_counts, coin_fit, coin_flips

LEVEL, UNLIKELY = 0.95, 0.01
MANY = {"choosers": 20, "permuted": 20, "batches": 8, "ties": 3, "single": 3}


@pytest.fixture(scope="module")
def fits():
    """Fit coin flips of 100 people in every disguise."""
    return {
        disguise: [coin_fit(disguise, 500 + seed, subjects=100) for seed in range(many)]
        for disguise, many in MANY.items()
    }


@pytest.fixture(scope="module")
def predictions(fits):
    """Predict, for every log that knows all its rotation's states, what that gains: in truth 0.

    Each is paired with what the same log says of the rotation that was chosen on it.
    """
    found = []
    for fit in [*fits["choosers"], *fits["permuted"]]:
        plan = ls.plan_cycle(fit.bandit, 4)
        if all(one.known for one in support(fit, plan)):
            given = [plan.names[arm] for arm in plan.block]
            found.append((predicted_gain(fit, plan), predicted_gain(fit, given)))
    return found


@pytest.mark.parametrize("disguise", ["batches", "choosers", "permuted", "single"])
def test_the_engine_counts_what_the_plain_reference_counts(disguise):
    """The same cells of the same people; only how people are numbered is drawn."""
    read = fit_curves(coin_flips(disguise, 3, subjects=30), **READINGS[disguise]).counts
    plain = coin_counts(disguise, 3, subjects=30)
    people = []
    for counts in (read, plain):
        cells = np.lexsort((counts.column, counts.arm, counts.subject))
        table = np.stack([counts.arm, counts.column, counts.events, counts.total.round(9)])
        whose = np.split(table[:, cells], np.flatnonzero(np.diff(counts.subject[cells])) + 1, 1)
        people.append(sorted(cells.tolist() for cells in whose))
    assert people[0] == people[1]


def test_a_random_order_of_ties_keeps_every_event():
    """The reference shuffles them too: what each arm was paid in all stays what it was."""
    read = fit_curves(coin_flips("ties", 3, subjects=30), order=0).counts
    sums = [
        [np.bincount(one.arm, values).tolist() for values in one.sums]
        for one in (read, coin_counts("ties", 3, subjects=30))
    ]
    assert sums[0] == sums[1]


def alarmed(fit):
    """Say whether anything is claimed of a log."""
    return any(one.answer in ("yes", "reverse") for row in fit.findings for one in row)


def test_alarms_are_at_most_at_the_nominal_rate(fits):
    """Any yes or reverse, to nine questions a log: in five of a hundred logs, not more."""
    assert set(fits) == set(DISGUISES)
    alarms = [alarmed(fit) for several in fits.values() for fit in several]
    test = binomtest(sum(alarms), len(alarms), 1 - LEVEL, alternative="greater")
    assert test.pvalue > UNLIKELY, f"{sum(alarms)} alarms in {len(alarms)} logs"


def test_pooled_means_would_raise_alarms_where_people_choose(fits):
    """The negative control: unlucky people repeat more, and plain means take that for wear."""
    alarms = []
    for fit in [*fits["choosers"], *fits["permuted"]]:
        rest = fit.counts.rest
        sides = range(1, 1 + rest), range(1 + rest, fit.counts.width)
        p = [pooled_contrast(strata_of(fit.counts, a), *sides, LEVEL).p_value for a in range(3)]
        alarms.append(3 * min(p) < 1 - LEVEL)
    assert np.mean(alarms) > 0.9


def test_predicted_gains_cover_the_truth_at_their_level(predictions):
    """There is nothing to gain from coins, and 95 of 100 intervals say so: not fewer."""
    covered = [gain.over_log.low <= 0 <= gain.over_log.high for gain, _ in predictions]
    assert len(covered) > 30
    assert binomtest(sum(covered), len(covered), LEVEL).pvalue > UNLIKELY
    errors = [gain.over_log.mean / gain.over_log.error for gain, _ in predictions]
    assert 0.7 < np.std(errors) < 1.3  # of errors in units of what they are said to be


def test_a_prediction_does_not_fall_for_its_own_luck(predictions):
    """Valued where it was chosen, a rotation of coins gains; valued on others it does not."""
    assert all(gain.held_out and not naive.held_out for gain, naive in predictions)
    honest, naive = ([g.over_log.mean for g in side] for side in zip(*predictions, strict=True))
    assert ttest_1samp(honest, 0.0).pvalue > UNLIKELY
    assert ttest_1samp(naive, 0.0, alternative="greater").pvalue < 1e-4


def test_one_event_a_person_predicts_nothing(fits):
    """No state is known, so no rotation is valued."""
    for fit in fits["single"]:
        assert not any(one.known for one in support(fit, ls.plan_cycle(fit.bandit, 4)))
