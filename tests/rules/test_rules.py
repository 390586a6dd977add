"""Rules are values: they print, compare, hash, and survive a file."""

from __future__ import annotations

import re

import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import InputTypeError, RuleError

EVERY_KIND = [
    r.at_most("jazz", 3, within=7),
    r.at_most(["jazz", 2], 3, every=7, offset=2, cost=0.5, name="burn"),
    r.at_most("everyone", 0.25),
    r.at_most("hits", 1, spans=[(0, 3), (3, 9)], each=True),
    r.at_least("fish", 1, every=7),
    r.at_least("fish", 0.5, within=4, cost=2),
    r.at_least("fish", 2, per="week"),
    r.apart("Adele", 3),
    r.rest("everyone", 4, name="rest"),
    r.never_after("pasta", ["pasta", "rice"], cost=1),
    r.only("talk", range(6, 12)),
    r.only("talk", when="weekdays"),
    r.never("talk"),
    r.never("everyone", [6, 13, 20], cost=0.25),
    r.never("everyone", when="sunday"),
    r.pinned("talk", 3),
    r.pinned("talk", [3, 10]),
]


@pytest.mark.parametrize("rule", EVERY_KIND, ids=repr)
def test_a_rule_survives_its_dictionary_and_its_own_repr(rule):
    """Both give back an equal rule that prints the same."""
    assert r.from_dict(rule.to_dict()) == rule
    again = eval(repr(rule), {name: getattr(r, name) for name in r.__all__})
    assert again == rule
    assert hash(again) == hash(rule)
    assert str(again) == str(rule)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (r.at_most("jazz", 1, within=7), "jazz: at most 1 play in any 7 rounds"),
        (
            r.at_least(["a", 2], 2, every=7, offset=9),
            "a and arm 2: at least 2 plays in every period of 7 rounds that begins in round 2",
        ),
        (r.never("everyone", [6, 7, 8, 13]), "all arms: never in rounds 6 to 8, 13"),
        (r.never("talk"), "talk: never"),
        (r.only("talk", when="weekdays"), "talk: only on weekdays"),
        (r.at_most("x", 2, per="week"), "x: at most 2 plays in every week"),
        (
            r.never_after("a", "b", cost=0.5, name="jingle"),
            "jingle (a: never right after b (each violation costs 0.5))",
        ),
    ],
)
def test_a_rule_prints_as_a_sentence(rule, text):
    """What it says, in words."""
    assert str(rule) == text


def test_rules_that_mean_the_same_are_equal_and_others_are_not():
    """Words are sugar; arms, numbers, costs and names count."""
    assert r.apart("a", 3) == r.at_most("a", 1, within=3)
    assert r.rest("a", 3) == r.at_most("a", 1, within=3, each=True)
    assert r.apart("a", 3) != r.rest("a", 3)
    assert r.apart("a", 3) != r.apart("a", 3, cost=1.0)
    assert len({r.apart("a", 3), r.at_most("a", 1, within=3), r.apart("b", 3)}) == 2


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: r.at_most("a", -1), "at least 0, got -1"),
        (lambda: r.at_most("a", 1.5), "got 1.5"),
        (lambda: r.at_least("a", 0), "at least 1, got 0"),
        (lambda: r.at_most("a", 1, within=3, every=4), "within and every"),
        (lambda: r.at_most("a", 1, within=0), "got 0"),
        (lambda: r.at_most("a", 1, offset=2), "got 2"),
        (lambda: r.at_most("a", 1, spans=[(3, 3)]), r"got \(3, 3\)"),
        (lambda: r.at_most([], 1), "empty"),
        (lambda: r.apart("a", 3, cost=-1), "got -1"),
        (lambda: r.only("a"), "needs rounds"),
        (lambda: r.never("a", [1], when="sunday"), "needs rounds"),
        (lambda: r.pinned("a", -1), "got -1"),
        (lambda: r.from_dict({"rule": "appart", "who": "a"}), "did you mean 'apart'"),
        (lambda: r.from_dict({"rule": "apart", "who": "a", "round": 3}), "did you mean 'rounds'"),
        (lambda: r.from_dict({"rule": "apart", "who": "a"}), "lacks its key 'rounds'"),
    ],
)
def test_nonsense_is_refused_and_shown(make, what):
    """The message repeats what was given."""
    with pytest.raises(RuleError, match=what):
        make()


@pytest.mark.parametrize("who", [None, [1.5], True, {"a"}])
def test_who_must_name_arms(who):
    """Anything else is a wrong type."""
    with pytest.raises(InputTypeError):
        r.apart(who, 3)


def bandit() -> ls.Bandit:
    """Return three arms, two of them in a group."""
    return ls.Bandit(
        [ls.curves.constant(0.5)] * 3,
        names=["hello", "skyfall", "talk"],
        groups={"Adele": ["hello", 1]},
    )


def test_binding_finds_arms_and_groups():
    """Names, numbers, groups and everyone become numbers, in order and once."""
    radio = bandit()
    assert radio.groups == {"Adele": ("hello", "skyfall")}
    for who, arms in [
        ("talk", (2,)),
        ("Adele", (0, 1)),
        (["talk", "Adele", 0], (0, 1, 2)),
        ("everyone", (0, 1, 2)),
    ]:
        assert r.apart(who, 2).bound(radio.names, radio.groups).who == arms


@pytest.mark.parametrize("who", ["Adelle", 3, "nobody"])
def test_binding_refuses_strangers(who):
    """A name that is no arm and no group is said, with the nearest one."""
    radio = bandit()
    with pytest.raises(RuleError, match=re.escape(repr(who))) as error:
        r.apart(who, 2).bound(radio.names, radio.groups)
    assert ("did you mean 'Adele'" in str(error.value)) == (who == "Adelle")


class TwoDayWeeks:
    """A calendar whose weeks have two days, the second a Sunday."""

    def rounds(self, when, length, *, none_ok):
        """Return the odd rounds."""
        return range(1, length, 2) if when == "sunday" else []

    def periods(self, per, length):
        """Return pairs of rounds that begin at odd ones."""
        return [(t, t + 2) for t in range(-1, length, 2)]


def test_a_calendar_resolves_words_of_time():
    """Words become rounds and spans; before that, the rule says it needs a calendar."""
    never = r.never("talk", when="sunday")
    assert never.resolve(TwoDayWeeks(), 5) == r.never("talk", [1, 3])
    weekly = r.at_most("talk", 1, per="week")
    assert weekly.resolve(TwoDayWeeks(), 4) == r.at_most("talk", 1, spans=[(-1, 1), (1, 3), (3, 5)])
    assert r.apart("talk", 2).resolve(TwoDayWeeks(), 4) == r.apart("talk", 2)
    for rule, words in [(never, "sunday"), (weekly, "week")]:
        with pytest.raises(RuleError, match=f"'{words}'.*calendar"):
            r.violations(rule, [(0,)])


def test_one_play_is_not_a_share_of_all_rounds():
    """1 and 1.0 are equal numbers and different rules."""
    count, share = r.at_most("hit", 1, within=3), r.at_most("hit", 1.0, within=3)
    assert count != share
    assert len({count, share, r.at_most("hit", 1, within=3)}) == 2
