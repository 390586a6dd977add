"""The words rules are made with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lastswitch._utils.checks import LARGEST, check_list, check_whole, is_number
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import InputTypeError, RuleError
from lastswitch.rules.records import Counting, Rule, Span, Succession, Who

#: What callers give for ``who``: an arm, a group, or several of them.
Named = str | int | Sequence[str | int]
#: What callers give for ``rounds``: one or several, counted from 0.
Rounds = int | Iterable[int]


def at_most(
    who: Named,
    plays: int | float,
    *,
    within: int | None = None,
    every: int | None = None,
    offset: int = 0,
    spans: Iterable[Span] | None = None,
    per: str | None = None,
    each: bool = False,
    cost: float | None = None,
    name: str | None = None,
) -> Counting:
    """Say that ``who`` is played at most so often in each window of rounds.

    Parameters
    ----------
    who
        An arm (name or number), a group, ``everyone``, or a list of these; counted together.
    plays
        How often: a whole number, or a float from 0 to 1, a share of the window's rounds.
    within
        In any so many consecutive rounds.
    every, offset
        In each period of so many rounds; periods begin at rounds offset, offset + every, ...
    spans
        In each of these ranges (first round, round after the last).
    per
        In each unit of a calendar, such as ``"week"``. Without a window, in the block as a whole.
    each
        Count each arm by itself.
    cost
        What each play too many costs; without it none is allowed.
    name
        What to call the rule.

    Examples
    --------
    >>> print(at_most("everyone", 3, within=7))
    all arms: at most 3 plays in any 7 rounds
    >>> print(at_most(["jazz", "talk"], 0.25, each=True, cost=0.1))
    each of jazz and talk: at most 25 % of the rounds (each play too many costs 0.1)
    """
    return Counting(
        who=_who(who),
        most=_plays(plays, 0),
        **_windows(within, every, offset, spans, per),
        each=bool(each),
        form="at_most",
        **_common(cost, name),
    )


def at_least(
    who: Named,
    plays: int | float,
    *,
    within: int | None = None,
    every: int | None = None,
    offset: int = 0,
    spans: Iterable[Span] | None = None,
    per: str | None = None,
    each: bool = False,
    cost: float | None = None,
    name: str | None = None,
) -> Counting:
    """Say that ``who`` is played at least so often in each window of rounds.

    Parameters are those of :func:`at_most`; ``cost`` is for each play that a window lacks. A
    window that begins before the known past or ends after the block asks for nothing.

    Examples
    --------
    >>> print(at_least("fish", 1, every=7))
    fish: at least 1 play in every period of 7 rounds
    """
    return Counting(
        who=_who(who),
        least=_plays(plays, 1),
        **_windows(within, every, offset, spans, per),
        each=bool(each),
        form="at_least",
        **_common(cost, name),
    )


def apart(who: Named, rounds: int, *, cost: float | None = None, name: str | None = None) -> Rule:
    """Say that any two plays of ``who``, of one arm or of two, are so many rounds apart.

    Examples
    --------
    >>> print(apart(["hello", "skyfall"], 3))
    hello and skyfall: any two plays at least 3 rounds apart
    """
    within = check_whole("rounds", rounds, 1, RuleError)
    return Counting(_who(who), most=1, within=within, form="apart", **_common(cost, name))


def rest(who: Named, rounds: int, *, cost: float | None = None, name: str | None = None) -> Rule:
    """Say that the plays of each arm of ``who`` are so many rounds apart, arm by arm.

    Examples
    --------
    >>> print(rest("everyone", 4))
    each arm: its plays at least 4 rounds apart
    """
    within = check_whole("rounds", rounds, 1, RuleError)
    return Counting(_who(who), most=1, within=within, each=True, form="rest", **_common(cost, name))


def never_after(
    who: Named, whom: Named, *, cost: float | None = None, name: str | None = None
) -> Succession:
    """Say that no arm of ``who`` is played in the round after one of ``whom``.

    Examples
    --------
    >>> print(never_after("pasta", "pasta"))
    pasta: never right after pasta
    """
    return Succession(_who(who), _who(whom), **_common(cost, name))


def only(
    who: Named,
    rounds: Rounds | None = None,
    *,
    when: str | None = None,
    cost: float | None = None,
    name: str | None = None,
) -> Counting:
    """Say that ``who`` is played in these rounds only; ``when`` names them by a calendar.

    Examples
    --------
    >>> print(only("talk", range(6, 12)))
    talk: only in rounds 6 to 11
    """
    where = _where(rounds, when, "only")
    return Counting(
        _who(who), most=0, **where, outside=True, each=True, form="only", **_common(cost, name)
    )


def never(
    who: Named,
    rounds: Rounds | None = None,
    *,
    when: str | None = None,
    cost: float | None = None,
    name: str | None = None,
) -> Counting:
    """Say that ``who`` is not played in these rounds; without any, not at all.

    Examples
    --------
    >>> print(never("everyone", [6, 13]))
    all arms: never in rounds 6, 13
    """
    where = {} if rounds is None and when is None else _where(rounds, when, "never")
    return Counting(_who(who), most=0, **where, each=True, form="never", **_common(cost, name))


def pinned(
    who: Named,
    round: Rounds | None = None,  # noqa: A002 - the word users know
    *,
    when: str | None = None,
    cost: float | None = None,
    name: str | None = None,
) -> Counting:
    """Say that ``who`` (one of them, if several) is played in this round, or in each of these.

    Examples
    --------
    >>> print(pinned("talk", 3))
    talk: played in round 3
    """
    where = _where(round, when, "pinned")
    return Counting(_who(who), least=1, **where, form="pinned", **_common(cost, name))


#: Every word by its name, as files have it.
WORDS: dict[str, Callable[..., Rule]] = {
    word.__name__: word
    for word in (at_most, at_least, apart, rest, never_after, only, never, pinned)
}


def from_dict(data: Mapping[str, Any]) -> Rule:
    """Return the rule that ``to_dict`` wrote down.

    Examples
    --------
    >>> from_dict({"rule": "apart", "who": "Adele", "rounds": 3})
    apart('Adele', 3)
    """
    if not isinstance(data, Mapping):
        raise InputTypeError(f"a rule is a table such as {{rule = 'apart', ...}}, got {data!r}.")
    fields = dict(data)
    word = fields.pop("rule", None)
    if not (isinstance(word, str) and word in WORDS):
        raise RuleError(
            f"key 'rule' must be one of {', '.join(WORDS)}, got {word!r}{suggestion(word, WORDS)}."
        )
    parameters = inspect.signature(WORDS[word]).parameters
    for key in fields:
        if key not in parameters:
            raise RuleError(
                f"{word} has no key {key!r}{suggestion(key, parameters)}; "
                f"its keys are {', '.join(parameters)}."
            )
    missing = [key for key, p in parameters.items() if p.default is p.empty and key not in fields]
    if missing:
        raise RuleError(f"{word} lacks its key {missing[0]!r}; got {sorted(fields)}.")
    return WORDS[word](**fields)


def _who(who: Named) -> Who:
    """Return arms and groups as a tuple, checked as far as they can be without a bandit."""
    given = [who] if isinstance(who, str | int | np.integer) else check_list("who", who, "of arms")
    arms: list[str | int] = []
    for each in given:
        if isinstance(each, bool) or not isinstance(each, str | int | np.integer):
            raise InputTypeError(f"who must name arms or groups, or number arms; got {each!r}.")
        arms.append(each if isinstance(each, str) else int(each))
    if not arms:
        raise RuleError("who is empty: name an arm, a group, several of them, or 'everyone'.")
    return tuple(dict.fromkeys(arms))


def _plays(plays: int | float, least: int) -> int | float:
    """Return a number of plays, or a share of the rounds."""
    if isinstance(plays, float):
        if not 0.0 <= plays <= 1.0:
            raise RuleError(
                f"a share of the rounds lies between 0.0 and 1.0, got {plays!r}; give a number "
                "of plays as a whole number."
            )
        return plays
    return check_whole("plays", plays, least, RuleError)


def _windows(
    within: int | None,
    every: int | None,
    offset: int,
    spans: Iterable[Span] | None,
    per: str | None,
) -> dict[str, Any]:
    """Return the windows' fields: at most one way to say them."""
    ways = {"within": within, "every": every, "spans": spans, "per": per}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise RuleError(f"give one of {', '.join(ways)}, got {' and '.join(given)}.")
    start = offset if isinstance(offset, int | np.integer) else None
    if start is None or isinstance(offset, bool) or (start and every is None):
        raise RuleError(f"offset is a round in which periods (every=) begin, got {offset!r}.")
    if per is not None and not (isinstance(per, str) and per):
        raise InputTypeError(f"per is a word of time such as 'week', got {per!r}.")
    if within is not None:
        return {"within": check_whole("within", within, 1, RuleError)}
    if every is not None:
        period = check_whole("every", every, 1, RuleError)
        return {"every": period, "offset": int(start) % period}
    if spans is not None:
        return {"spans": tuple(map(_span, check_list("spans", spans, "pairs of rounds")))}
    return {"per": per}


def _span(span: Span) -> Span:
    pair = check_list("a span", span, "the first round and the round after the last")
    if len(pair) != 2 or not all(isinstance(t, int | np.integer) for t in pair):
        raise RuleError(f"a span is (first round, round after the last), got {span!r}.")
    if pair[0] >= pair[1]:
        raise RuleError(f"a span ends after it begins, got {span!r}.")
    return int(pair[0]), int(pair[1])


def _where(rounds: Rounds | None, when: str | None, word: str) -> dict[str, Any]:
    """Return the fields that say in which rounds."""
    if (rounds is None) == (when is None):
        raise RuleError(f"{word} needs rounds (numbers from 0) or when (a calendar's words).")
    if when is not None:
        if not (isinstance(when, str) and when):
            raise InputTypeError(f"when is words of time such as 'sunday', got {when!r}.")
        return {"when": when}
    given: Any = [rounds] if isinstance(rounds, int | np.integer) else rounds
    given = check_list("rounds", given, "numbers from 0")
    numbers = sorted({check_whole("a round", t, 0, RuleError) for t in given})
    return {"spans": tuple((t, t + 1) for t in numbers)}


def _common(cost: float | None, name: str | None) -> dict[str, Any]:
    """Return the fields every rule has."""
    if cost is not None and not (is_number(cost) and 0 < cost <= LARGEST):
        raise RuleError(
            f"cost must be a positive number per violation, at most {LARGEST:g}; got {cost!r}. "
            "Leave it out for a rule that must not be broken."
        )
    if name is not None and not (isinstance(name, str) and name):
        raise InputTypeError(f"name must be a word or a few, got {name!r}.")
    return {"cost": None if cost is None else float(cost), "name": name}
