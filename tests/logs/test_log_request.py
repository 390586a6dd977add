"""One request about a log: whatever reads a log takes it, or its parameters as keywords."""

import dataclasses

import pytest

import lastswitch as ls
from lastswitch.errors import InputTypeError, LogError
from lastswitch.logs import EventLog, current_states, fit_curves, replay
from lastswitch.logs.reading import LogOptions

TRUTH = ls.Bandit([([0.9], [0.1]), ([0.3], [0.3])], names=["jazz", "talk"])


@pytest.fixture(scope="module")
def log():
    """Return a log whose columns have names of their own."""
    made = ls.logs.simulate(TRUTH, subjects=40, rounds=30, seed=1)
    names = {"subject": "who", "reward": "liked"}
    return made.rename_columns([names.get(name, name) for name in made.column_names])


def test_a_request_and_its_keywords_are_the_same(log):
    """Fits, replays and current states, asked either way; keywords go before the request."""
    how = {"subject": "who", "reward": "liked", "every": "1d"}
    request = EventLog(log, **how)
    whole = fit_curves(log, **how)
    assert fit_curves(request).digest == whole.digest
    assert str(fit_curves(request)) == str(whole)
    assert fit_curves(EventLog(log, **{**how, "every": None}), every="1d").digest == whole.digest
    assert fit_curves(request, every=None).summary.every is None
    assert current_states(request).equals(current_states(log, subject="who", every="1d"))
    chance = {"propensity": "propensity", "draws": 20}
    asked = EventLog(log, **how, propensity="propensity")
    assert str(replay(asked, [0, 1], draws=20)) == str(replay(log, [0, 1], **how, **chance))


def test_columns_that_are_not_read_need_not_be_there(log):
    """States need no rewards, and only replays the chance of what was played."""
    request = EventLog(log.drop_columns(["liked", "propensity"]), subject="who", every="1d")
    assert len(request.states()) == len(current_states(log, subject="who", every="1d"))
    with pytest.raises(LogError, match="reward"):
        fit_curves(request)
    asked = EventLog(log, subject="who", reward="liked", propensity="nowhere")
    assert fit_curves(asked).summary.plays == 1200
    with pytest.raises(LogError, match="nowhere"):
        replay(asked, [0, 1])
    with pytest.raises(InputTypeError, match="propensity must be the name of a column, got None"):
        replay(log, [0, 1], subject="who", reward="liked")


@pytest.mark.parametrize(
    "read", [fit_curves, current_states, lambda log, **o: replay(log, [0], **o)]
)
def test_an_option_nobody_knows_is_named(log, read):
    """With the one that was meant."""
    with pytest.raises(InputTypeError, match=r"no option 'day_start' \(did you mean 'day_starts'"):
        read(log, subject="who", day_start="04:00")


def test_keywords_are_those_of_the_request():
    """One list for people who type, one for what is checked: they are the same."""
    fields = {f.name: f.type for f in dataclasses.fields(EventLog) if f.name != "log"}
    hints = LogOptions.__annotations__
    assert {name: hint.__forward_arg__ for name, hint in hints.items()} == fields
