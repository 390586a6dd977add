"""What hypothesis draws: curves, bandits, states and blocks of the model."""

import numpy as np
from hypothesis import strategies as st

import lastswitch as ls

# A coarse grid makes ties, zeros and ones common, which is where mistakes live.
pays = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1).map(lambda x: round(x, 6)))
taus = st.integers(-12, 12).filter(lambda tau: tau != 0)


@st.composite
def curves(draw, max_rest=6, max_streak=4, constant_streaks=False):
    """Draw any curve of the model."""
    rest = draw(st.lists(pays, min_size=1, max_size=max_rest))
    size = 1 if constant_streaks else max_streak
    streak = sorted(draw(st.lists(pays, min_size=1, max_size=size)), reverse=True)
    return ls.Curve(rest, streak, draw(st.sampled_from(["hold", "repeat"])))


@st.composite
def bandits(draw, min_arms=1, max_arms=4, **curve):
    """Draw a bandit with any initial states."""
    arms = draw(st.lists(curves(**curve), min_size=min_arms, max_size=max_arms))
    initial = draw(st.lists(taus, min_size=len(arms), max_size=len(arms)))
    return ls.Bandit(arms, initial=initial)


def blocks(n_arms, min_size=1, max_size=12):
    """Draw a block over ``n_arms`` arms."""
    return st.lists(st.integers(0, n_arms - 1), min_size=min_size, max_size=max_size)


def states(n_arms):
    """Draw a state vector."""
    return st.lists(taus, min_size=n_arms, max_size=n_arms).map(np.array)
