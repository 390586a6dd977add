"""Rules in words: as a sentence, as the call that makes them, as a table of a file."""

from __future__ import annotations

from typing import Any

from lastswitch.rules.records import Counting, Rule, Span, Succession, Who, everyone


def sentence(rule: Rule) -> str:
    """Return the rule as a sentence.

    Examples
    --------
    >>> from lastswitch.rules import at_least
    >>> sentence(at_least("veg", 2, every=7, name="greens"))
    'greens (veg: at least 2 plays in every period of 7 rounds)'
    """
    if isinstance(rule, Succession):
        text = f"{_listed(rule.who)}: never right after {_listed(rule.whom)}"
        text += _price(rule, "violation")
    else:
        text = f"{_subject(rule)}: {_demand(rule)}"
        text += _price(rule, "play too many" if rule.most is not None else "play too few")
    return text if rule.name is None else f"{rule.name} ({text})"


def call(rule: Rule) -> str:
    """Return the call of :mod:`lastswitch.rules` that makes the rule.

    Examples
    --------
    >>> from lastswitch.rules import at_most
    >>> call(at_most("everyone", 3, within=7))
    "at_most('everyone', 3, within=7)"
    """
    fields = written(rule)
    word = fields.pop("rule")
    places = ("who", "plays", "whom", "rounds", "round")
    first = [fields.pop(key) for key in places if key in fields]
    rest = [f"{key}={value!r}" for key, value in fields.items()]
    return f"{word}({', '.join([*map(repr, first), *rest])})"


def written(rule: Rule) -> dict[str, Any]:
    """Return the rule as the plain values of a file."""
    if isinstance(rule, Succession):
        fields: dict[str, Any] = {"rule": "never_after", "who": _plain(rule.who)}
        fields["whom"] = _plain(rule.whom)
    else:
        form = _form(rule)
        fields = {"rule": form, "who": _plain(rule.who)}
        if form in ("at_most", "at_least"):
            fields["plays"] = rule.least if rule.most is None else rule.most
            fields |= {
                key: getattr(rule, key)
                for key in ("within", "every", "per")
                if getattr(rule, key) is not None
            }
            if rule.offset:
                fields["offset"] = rule.offset
            if rule.spans is not None:
                fields["spans"] = [list(span) for span in rule.spans]
            if rule.each:
                fields["each"] = True
        elif form in ("apart", "rest"):
            fields["rounds"] = rule.within
        elif rule.when is not None:
            fields["when"] = rule.when
        elif rule.spans is not None:
            rounds = [t for start, stop in rule.spans for t in range(start, stop)]
            one = form == "pinned"
            fields["round" if one else "rounds"] = rounds[0] if len(rounds) == 1 else rounds
    for key in ("cost", "name"):
        if getattr(rule, key) is not None:
            fields[key] = getattr(rule, key)
    return fields


def _form(rule: Counting) -> str:
    """Return the word for a rule, whoever made it."""
    if rule.form:
        return rule.form
    return "at_most" if rule.most is not None else "at_least"


def _plain(who: Who) -> str | int | list[str | int]:
    return who[0] if len(who) == 1 else list(who)


def _listed(who: Who) -> str:
    """Return arms and groups as a list in words."""
    if who == (everyone,):
        return "all arms"
    names = [each if isinstance(each, str) else f"arm {each}" for each in who]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _subject(rule: Counting) -> str:
    form = _form(rule)
    if not rule.each or form in ("only", "never"):
        return _listed(rule.who)
    if rule.who == (everyone,):
        return "each arm"
    if len(rule.who) > 1:
        return f"each of {_listed(rule.who)}"
    # A single name may be a group, whose arms are meant.
    return _listed(rule.who) if form == "rest" else f"{_listed(rule.who)}, arm by arm"


def _demand(rule: Counting) -> str:
    """Return what a counting rule asks for."""
    form = _form(rule)
    if form == "apart":
        return f"any two plays at least {_count(rule.within, 'round')} apart"
    if form == "rest":
        each = "plays of one arm" if len(rule.who) == 1 and rule.who != (everyone,) else "its plays"
        return f"{each} at least {_count(rule.within, 'round')} apart"
    if form in ("only", "never", "pinned"):
        start = {"only": "only ", "never": "never ", "pinned": "played "}[form]
        return (start + _rounds(rule)).rstrip()
    bound = "at most" if rule.most is not None else "at least"
    plays = rule.least if rule.most is None else rule.most
    if isinstance(plays, float):
        return f"{bound} {100 * plays:g} % of the rounds{_windows(rule)}"
    return f"{bound} {_count(plays, 'play')}{_windows(rule)}"


def _windows(rule: Counting) -> str:
    if rule.within is not None:
        return f" in any {_count(rule.within, 'round')}"
    if rule.every is not None:
        begins = f" that begins in round {rule.offset}" if rule.offset else ""
        return f" in every period of {_count(rule.every, 'round')}{begins}"
    if rule.per is not None:
        return f" in every {rule.per}"
    if rule.spans is not None:
        spans = ", ".join(f"{start} to {stop - 1}" for start, stop in rule.spans)
        return f" in each of rounds {spans}"
    return ""


def _rounds(rule: Counting) -> str:
    """Return in which rounds: numbers, runs of three or more shortened."""
    if rule.when is not None:
        return f"on {rule.when}"
    if rule.spans is None:
        return ""
    rounds = [t for start, stop in rule.spans for t in range(start, stop)]
    if not rounds:
        return "in no round"
    runs: list[Span] = []
    for t in rounds:
        if runs and runs[-1][1] == t:
            runs[-1] = (runs[-1][0], t + 1)
        else:
            runs.append((t, t + 1))
    texts = [f"{a} to {b - 1}" if b - a > 2 else ", ".join(map(str, range(a, b))) for a, b in runs]
    return f"in round{'s' if len(rounds) > 1 else ''} {', '.join(texts)}"


def _price(rule: Rule, what: str) -> str:
    return "" if rule.cost is None else f" (each {what} costs {rule.cost:g})"


def _count(number: int | None, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
