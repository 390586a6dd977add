"""The bandit: what it accepts, what it draws, what it refuses."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch._utils.random import stream
from lastswitch.errors import BanditError, CurveError, InputTypeError
from lastswitch.model.curves import constant, step
from strategies import bandits, states


@given(data=st.data(), bandit=bandits())
def test_means_read_every_curve(data, bandit):
    """The vector of means is the mean of each arm in its own state."""
    tau = data.draw(states(bandit.n_arms))
    assert bandit.means(tau).tolist() == [bandit.mean(i, t) for i, t in enumerate(tau)]


@given(bandit=bandits(), rest=st.integers(0, 7), streak=st.integers(0, 5))
def test_tables_hold_the_curves(bandit, rest, streak):
    """Tables have one row per arm and one column per state."""
    rests, streaks = bandit.tables(rest, streak)
    assert rests.shape == (bandit.n_arms, rest)
    assert streaks.shape == (bandit.n_arms, streak)
    for arm, curve in enumerate(bandit.curves):
        assert rests[arm].tolist() == [curve(tau) for tau in range(1, rest + 1)]
        assert streaks[arm].tolist() == [curve(-run) for run in range(1, streak + 1)]


def test_start_is_a_fresh_copy():
    """Writing into the start does not move the bandit."""
    bandit = ls.Bandit([constant(0.5)] * 2, initial=[3, -2])
    bandit.start()[:] = 9
    assert bandit.start().tolist() == [3, -2]


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian", "none"])
def test_samples_have_the_right_mean_and_spread(noise):
    """Ten thousand draws agree with the noise that was asked for."""
    bandit = ls.Bandit([constant(0.3)], noise=noise, sigma=0.2)
    rng = stream(1, "samples", noise)
    draws = np.array([bandit.sample(0, 1, rng) for _ in range(10_000)])
    spread = {"bernoulli": np.sqrt(0.3 * 0.7), "gaussian": 0.2, "none": 0.0}[noise]
    assert draws.mean() == pytest.approx(0.3, abs=5 * spread / 100 + 1e-12)
    assert draws.std() == pytest.approx(spread, abs=0.01)


def test_bandits_are_values():
    """Equal parts make equal, hashable bandits."""
    one = ls.Bandit([step(2, 0.9)], names=["jazz"])
    assert one == ls.Bandit([([0.0, 0.9], [0.0])], names=["jazz"])
    assert len({one, ls.Bandit([step(2, 0.9)], names=["jazz"])}) == 1


def test_a_bandit_prints_its_arms():
    """The repr names every arm and its curve."""
    text = repr(ls.Bandit([step(2, 0.9), constant(0.25)], names=["jazz", "talk"], initial=-1))
    assert "2 arms, bernoulli rewards, starting at tau -1" in text
    assert re.search(r"jazz  Curve\(rest=\[0, 0.9\], streak=\[0\]\)", text)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"curves": []}, BanditError, "at least one arm"),
        ({"noise": "poisson"}, BanditError, "got 'poisson'"),
        ({"sigma": -1.0}, BanditError, "sigma must be a number, at least 0, got -1.0"),
        ({"sigma": None}, BanditError, "sigma must be a number, at least 0, got None"),
        ({"sigma": float("nan")}, BanditError, "got nan"),
        ({"names": ["a"]}, BanditError, r"one entry per arm \(2\), got 1"),
        ({"names": ["a", "a"]}, BanditError, "got 'a' more than once"),
        ({"names": "ab"}, InputTypeError, "got 'ab'"),
        ({"initial": 0}, BanditError, "arm 'arm 0' cannot start at tau 0"),
        ({"initial": [1, 2, 3]}, BanditError, r"got \[1, 2, 3\]"),
        ({"initial": 1.5}, InputTypeError, "got 1.5"),
        ({"initial": [1, [2]]}, InputTypeError, r"got \[1, \[2\]\]"),
        ({"names": 5}, InputTypeError, "names must be a list, one string per arm; got 5"),
        ({"curves": None}, InputTypeError, "curves must be a list, one curve per arm; got None"),
        ({"curves": constant(0.5)}, InputTypeError, "one curve per arm; got Curve"),
        ({"curves": [0.5]}, InputTypeError, "arm 'arm 0' needs a Curve"),
        ({"curves": [([0.5], [2.0])]}, CurveError, "arm 'arm 0': streak .* got 2.0 at tau -1"),
    ],
)
def test_what_does_not_fit_is_refused(kwargs, error, message):
    """Every message says what was given, and for an arm which."""
    arguments = {"curves": [constant(0.5), constant(0.2)]} | kwargs
    with pytest.raises(error, match=message):
        ls.Bandit(**arguments)


def test_unknown_arms_are_refused():
    """By number and by name."""
    bandit = ls.Bandit([constant(0.5)], names=["jazz"])
    with pytest.raises(BanditError, match="arm 1 does not exist"):
        bandit.mean(1, 1)
    with pytest.raises(BanditError, match=r"no arm is called 'rock'; the arms are \['jazz'\]"):
        bandit.index("rock")
    with pytest.raises(BanditError, match="one entry per arm"):
        bandit.means([1, 1])


def test_arms_and_states_are_whole_numbers():
    """A fraction is refused, never rounded."""
    bandit = ls.Bandit([constant(0.5)])
    with pytest.raises(InputTypeError, match=r"an arm is an integer from 0 to 0, got 0\.5"):
        bandit.mean(0.5, 1)
    with pytest.raises(InputTypeError, match=r"tau must be an integer.* got 1\.7"):
        bandit.mean(0, 1.7)
