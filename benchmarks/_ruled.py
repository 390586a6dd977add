"""What people schedule, as problems with rules: radio, notifications, meals, mails; all seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._utils.random import stream
from lastswitch.planning.ruled_problem import RuledProblem


def recovering(rng: np.random.Generator, n_arms: int, depth: int = 8) -> list[ls.Curve]:
    """Return curves that come back with rest, each at its own pace to its own height."""
    rests = np.arange(1, depth + 1)
    curves = []
    for top, scale, again in rng.uniform((0.4, 1.0, 0.0), (1.0, 6.0, 0.3), (n_arms, 3)):
        curves.append(ls.Curve(top * (1 - np.exp(-rests / scale)), [again * top]))
    return curves


def radio(seed: int, songs: int, artists: int, rounds: int, apart: int, most: int) -> RuledProblem:
    """Return songs of several artists: an artist so many rounds apart, a song so often at most."""
    rng = stream(seed, "benchmarks/rules/radio", str(songs))
    groups = {f"artist {j}": list(range(j, songs, artists)) for j in range(artists)}
    rules = [*(r.apart(artist, apart) for artist in groups), r.at_most("everyone", most, each=True)]
    bandit = ls.Bandit(recovering(rng, songs, depth=24), groups=groups, rules=rules)
    return RuledProblem.from_bandit(bandit, rounds)


def notifications(seed: int, **window: int) -> RuledProblem:
    """Return six messages for 28 days: three in a window, each three days apart, or silence."""
    rng = stream(seed, "benchmarks/rules/notifications")
    rules = [r.at_most("everyone", 3, **window), r.rest("everyone", 3)]
    bandit = ls.Bandit(recovering(rng, 6), rules=rules, plays=(0, 1))
    return RuledProblem.from_bandit(bandit, 28)


def meals(seed: int) -> RuledProblem:
    """Return fifteen dishes for four weeks."""
    rng = stream(seed, "benchmarks/rules/meals")
    groups = {
        "fish": [0, 1, 2],
        "pasta": [3, 4, 5],
        "meat": [6, 7, 8, 9],
        "veg": [10, 11, 12, 13, 14],
    }
    rules = [
        r.at_least("fish", 1, every=7),
        r.never_after("pasta", "pasta"),
        r.at_most("meat", 3, every=7),
        r.at_least("veg", 2, every=7),
    ]
    return RuledProblem.from_bandit(ls.Bandit(recovering(rng, 15), groups=groups, rules=rules), 28)


def mails(seed: int, plays: int) -> RuledProblem:
    """Return eight templates, so many a day for two weeks."""
    rng = stream(seed, "benchmarks/rules/mails")
    rules = [
        r.rest("everyone", 2),
        r.at_most("promotions", 3 * plays, every=7),
        r.apart("newsletters", 1),
    ]
    groups = {"promotions": [0, 1, 2, 3], "newsletters": [4, 5]}
    bandit = ls.Bandit(recovering(rng, 8), groups=groups, rules=rules, plays=plays)
    return RuledProblem.from_bandit(bandit, 14)


def mixed(seed: int) -> RuledProblem:
    """Return ten arms, twenty rounds and six rules drawn at random, some of them soft."""
    rng = stream(seed, "benchmarks/rules/mixed")
    rules: list[r.Rule] = [r.rest("everyone", 2)]
    for _ in range(2):
        some = sorted(rng.choice(10, 4, replace=False).tolist())
        rules.append(r.at_most(some, int(rng.integers(1, 3)), within=int(rng.integers(3, 6))))
        some = sorted(rng.choice(10, 3, replace=False).tolist())
        rules.append(r.at_least(some, 1, every=5, cost=float(rng.uniform(0.1, 0.5))))
    one, other = rng.choice(10, 2, replace=False).tolist()
    rules.append(r.never_after(one, other))
    return RuledProblem.from_bandit(ls.Bandit(recovering(rng, 10), rules=rules), 20)


#: Name -> the problem of a seed.
PROBLEMS: dict[str, Callable[[int], RuledProblem]] = {
    "radio day": lambda seed: radio(seed, 12, 5, 24, 3, 3),
    "notifications, any 7 days": lambda seed: notifications(seed, within=7),
    "notifications, each week": lambda seed: notifications(seed, every=7),
    "meals": meals,
    "two mails a day": lambda seed: mails(seed, 2),
    "three mails a day": lambda seed: mails(seed, 3),
    "mixed rules": mixed,
}


def radio_week(seed: int) -> RuledProblem:
    """Return the largest: 40 songs of 12 artists for a week of hours."""
    return radio(seed, 40, 12, 168, 4, 6)
