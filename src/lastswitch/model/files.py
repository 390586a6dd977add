"""Bandits and plans as files: TOML a person can write by hand, JSON for machines.

A bandit's file holds ``noise``, ``sigma`` and ``initial`` (all optional) and one ``[[arms]]``
table per arm. An arm has a ``name`` and says what it pays in one of three ways::

    [[arms]]
    name = "jazz"
    rest = [0.2, 0.5, 0.9]     # after 1, 2, 3 or more rounds of rest
    streak = [0.3, 0.1]        # after 1, 2 or more plays in a row

    [[arms]]
    name = "talk"
    shape = "step"             # a named shape of lastswitch.model.curves, with its parameters
    at = 3
    high = 0.8

    [[arms]]
    name = "news"
    delays = [0.1, 0.5, 0.9]   # 1 (a repeat), 2, 3 or more rounds after the last play

What schedules must respect may follow (:mod:`lastswitch.rules` has the words)::

    plays = [0, 1]             # at the top: one arm a round, or none
    silence = 0.1              # and what an empty place pays

    [groups]
    spoken = ["talk", "news"]

    [[rules]]
    rule = "apart"
    who = "spoken"
    rounds = 3

And so may what rounds are on the clock (:class:`lastswitch.Calendar`)::

    [calendar]
    start = 2024-06-03         # or said when planning: lastswitch plan --from monday
    every = "1d"
    zone = "Europe/Rome"
    skip = ["sun", 2024-12-25]
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from datetime import date
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_bandit, check_path, shown
from lastswitch._utils.codec import (
    LOADERS,
    kind_of,
    parse_json,
    parse_toml,
    read_text,
    save_json,
    unstamp,
)
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import CalendarError, FileError, InputTypeError, LastSwitchError
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import SHAPES, Curve
from lastswitch.model.instances import INSTANCES, instance

if TYPE_CHECKING:
    from lastswitch.calendars.calendar import Calendar
    from lastswitch.planning.plan import Plan
    from lastswitch.rules import Rule

#: What a saved bandit's stamp says; this release reads no other version.
KIND, VERSION = "bandit", 1

#: Whole numbers from here on are no state, and may be no float.
_TOO_LARGE = 2**62

#: States that the shapes of one file may ask for: a few words must not fill the memory.
_MOST_STATES = 4_000_000

_TOP_KEYS = (
    *("version", "noise", "sigma", "initial", "arms", "groups", "plays", "silence", "rules"),
    *("calendar", "serve"),  # which load_calendar and the service read
)
#: What an arm may say next to each of the three ways to give its curve.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "rest": ("rest", "streak", "tail", "monotone"),
    "delays": ("delays", "tail"),
    "shape": ("shape",),  # and the parameters of that shape
}


def load(path: str | PathLike[str]) -> Any:
    """Read whatever was saved: a bandit, a plan, a policy, a comparison or a fit.

    The stamp in the file says what it is, not the file's name; a file without one is a bandit
    written by hand. Its calendar is read by :func:`lastswitch.load_calendar`.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ls.plan_cycle(ls.instances.two_arms(), 2).save(f"{folder}/some.json")
    ...     ls.load(file).optimal
    True
    """
    file = check_path(path)
    kind = kind_of(file)
    if kind not in LOADERS:
        raise FileError(f"{file} is a saved {kind}, which is written for other programs to read.")
    return getattr(import_module("lastswitch"), LOADERS[kind].rpartition(".")[2])(file)


def load_bandit(path: str | PathLike[str]) -> Bandit:
    r"""Read a bandit from a ``.toml`` or ``.json`` file, saved or written by hand.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '[[arms]]\nname = "jazz"\nshape = "step"\nat = 3\nhigh = 0.8\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "radio.toml"
    ...     _ = file.write_text(text)
    ...     load_bandit(file)
    Bandit(1 arms, bernoulli rewards, starting at tau 1)
      jazz  Curve(rest=[0, 0, 0.8], streak=[0])
    """
    file = check_path(path)
    return bandit_from_dict(read_values(file), source=str(file))


def read_values(file: Path) -> Any:
    """Return the values of a bandit's file, saved or written by hand, as they are."""
    where, suffix = str(file), _suffix(file)
    text = read_text(file)
    data = parse_toml(text, where) if suffix == ".toml" else parse_json(text, where)
    if isinstance(data, Mapping) and "format" in data:  # saved, not written by hand
        data = unstamp(data, KIND, VERSION, where)
    return data


def write_bandit(bandit: Bandit, path: str | PathLike[str]) -> Path:
    """Write ``bandit`` to ``path`` (see :meth:`Bandit.save`)."""
    check_bandit("save", bandit)
    file = check_path(path)
    data = bandit_to_dict(bandit)
    if _suffix(file) == ".json":
        del data["version"]
        return save_json(file, KIND, VERSION, data)
    return write_atomic(file, to_toml(data))


def to_toml(data: Mapping[str, Any]) -> str:
    """Return a bandit's table, as :func:`bandit_to_dict` makes it, as the text of a TOML file."""
    import tomli_w

    return _inline(tomli_w.dumps(data))


def find_bandit(text: str) -> Bandit:
    """Return the bandit ``text`` stands for: a file, or an instance such as ``"five-arms"``.

    Examples
    --------
    >>> find_bandit("pinwheel:2,4,4").n_arms
    4
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a bandit is found by a file's path or a name, got {text!r}.")
    if Path(text).suffix in (".toml", ".json") or Path(text).exists():
        return load_bandit(text)
    if text.split(":")[0] not in INSTANCES:
        raise FileError(
            f"{text!r} is neither a .toml or .json file nor a known instance"
            f"{suggestion(text.split(':')[0], INSTANCES)}; "
            f"instances are {', '.join(INSTANCES.values())}."
        )
    return instance(text)


def load_plan(path: str | PathLike[str]) -> Plan:
    """Read a plan that ``plan.save(path)`` (or ``lastswitch plan --json``) wrote, and check it.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ls.plan_cycle(ls.instances.two_arms(), 2).save(f"{folder}/plan.json")
    ...     load_plan(file).optimal
    True
    """
    from lastswitch.planning.plan import Plan

    file = check_path(path)
    data = parse_json(read_text(file), str(file))
    try:
        return Plan.from_dict(data)
    except FileError as error:
        raise FileError(f"{file}: {error}") from error


def load_calendar(path: str | PathLike[str], start: str | date | None = None) -> Calendar | None:
    r"""Read the ``[calendar]`` of a bandit's file; None if it has none.

    Parameters
    ----------
    path
        The file.
    start
        Where to begin, instead of what the file says; a file that says nothing needs it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '[calendar]\nzone = "Europe/Rome"\nskip = "sat-sun"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "radio.toml"
    ...     _ = file.write_text(text)
    ...     load_calendar(file, start="2024-06-03").skip
    When('sat-sun')
    """
    from lastswitch.calendars.calendar import Calendar

    table = calendar_table(path)
    if table is None:
        return None
    given = {} if start is None else {"start": start}
    try:
        return Calendar.from_dict({**table, **given})
    except (CalendarError, InputTypeError) as error:
        raise FileError(f"{path}: [calendar]: {error}") from error


def calendar_table(path: str | PathLike[str]) -> dict[str, Any] | None:
    r"""Return the settings under ``[calendar]`` in a bandit's file; None if it has none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "radio.toml"
    ...     _ = file.write_text('[calendar]\nevery = "1h"\n')
    ...     calendar_table(file)
    {'every': '1h'}
    """
    file = check_path(path)
    data = read_values(file)
    table = data.get("calendar") if isinstance(data, Mapping) else None
    if not (table is None or isinstance(table, Mapping)):
        raise FileError(f"{file}: [calendar] must be a table of settings, got {shown(table)}.")
    return None if table is None else dict(table)


def bandit_to_dict(bandit: Bandit) -> dict[str, Any]:
    """Return ``bandit`` as plain lists, strings and numbers, as a file holds it.

    Examples
    --------
    >>> from lastswitch.model.curves import constant
    >>> bandit_to_dict(Bandit([constant(0.3)], names=["talk"]))["arms"]
    [{'name': 'talk', 'rest': [0.3], 'streak': [0.3]}]
    """
    check_bandit("bandit_to_dict", bandit)
    same = len(set(bandit.initial)) == 1
    data: dict[str, Any] = {
        "version": VERSION,
        "noise": bandit.noise,
        "sigma": bandit.sigma,
        "initial": bandit.initial[0] if same else list(bandit.initial),
        "arms": [],
    }
    for name, curve in zip(bandit.names, bandit.curves, strict=True):
        arm: dict[str, Any] = {
            "name": name,
            "rest": list(curve.rest),
            "streak": list(curve.streak),
        }
        if curve.tail != "hold":
            arm["tail"] = curve.tail
        if not curve.monotone:
            arm["monotone"] = False
        data["arms"].append(arm)
    if bandit.groups:
        data["groups"] = {name: list(arms) for name, arms in bandit.groups.items()}
    if bandit.plays != (1, 1):
        least, most = bandit.plays
        data["plays"] = most if least == most else [least, most]
    if bandit.silence:
        data["silence"] = bandit.silence
    if bandit.rules:
        data["rules"] = [rule.to_dict() for rule in bandit.rules]
    return data


def bandit_from_dict(data: Mapping[str, Any], source: str = "bandit") -> Bandit:
    """Build a bandit from what a file holds; ``source`` is what errors call the file.

    Examples
    --------
    >>> bandit_from_dict({"arms": [{"delays": [0.0, 0.9]}]}).curves[0]
    Curve(rest=[0.9], streak=[0])
    """
    if not isinstance(data, Mapping):
        raise FileError(f"{source} must hold a table with [[arms]], got {shown(data)}.")
    _check_version(data, source)
    _check_keys(data, _TOP_KEYS, source)
    arms = data.get("arms")
    if not (isinstance(arms, Sequence) and not isinstance(arms, str) and len(arms)):
        raise FileError(f"{source} must hold at least one [[arms]] table, got {shown(arms)}.")
    curves, names, states = [], [], 0
    for index, arm in enumerate(arms):
        where = f"{source}: arms[{index}]"
        if not isinstance(arm, Mapping):
            raise FileError(f"{where} must be a table, got {shown(arm)}.")
        name = arm.get("name", f"arm {index}")
        if not (isinstance(name, str) and _is_text(name)):
            raise FileError(f"{where}, key 'name' must be a string, got {shown(name)}.")
        names.append(name)
        curves.append(_read_curve(arm, f"{where} ({shown(name)})"))
        states += len(curves[-1].rest) + len(curves[-1].streak)
        if "shape" in arm and states > _MOST_STATES:
            raise FileError(
                f"{where}: the shapes up to here ask for {states:,} states, more than "
                f"{_MOST_STATES:,}; make them shorter, or build the bandit in Python."
            )
    given = ("noise", "sigma", "initial", "groups", "plays", "silence")
    settings = {key: data[key] for key in given if key in data}
    settings["rules"] = _read_rules(data.get("rules", []), source)
    if "sigma" in settings:
        _check_number(settings["sigma"], f"{source}: key 'sigma'")
    try:
        return Bandit(curves, names=names, **settings)
    except LastSwitchError as error:
        raise FileError(f"{source}: {error}") from error


def _read_rules(tables: Any, source: str) -> list[Rule]:
    """Return the rules of a file's [[rules]]."""
    from lastswitch.rules import from_dict

    if not isinstance(tables, Sequence) or isinstance(tables, str):
        raise FileError(f"{source}: rules must be [[rules]] tables, got {shown(tables)}.")
    rules = []
    for index, table in enumerate(tables):
        try:
            rules.append(from_dict(table))
        except LastSwitchError as error:
            raise FileError(f"{source}: rules[{index}]: {error}") from error
    return rules


def _read_curve(arm: Mapping[str, Any], where: str) -> Curve:
    """Build the curve of one arm in the one way it is given."""
    ways = [way for way in _WAYS if way in arm]
    if len(ways) > 1:
        raise FileError(
            f"{where} gives its curve in more than one way ({' and '.join(ways)}); keep one."
        )
    if not ways:
        known = [*dict.fromkeys(key for keys in _WAYS.values() for key in keys), "name"]
        _check_keys({key: arm[key] for key in arm if suggestion(key, known)}, known, where)
        raise FileError(
            f"{where} does not say what it pays: give rest and streak, or delays, or a shape "
            f"(one of {', '.join(SHAPES)}); got {sorted(arm)}."
        )
    if ways == ["shape"]:
        return _read_shape(arm, where)
    _check_keys(arm, ("name", *_WAYS[ways[0]]), where)
    settings = {key: arm[key] for key in ("tail", "monotone") if key in arm}
    if not isinstance(settings.get("monotone", True), bool):
        raise FileError(
            f"{where}, key 'monotone' must be true or false, got {shown(arm['monotone'])}."
        )
    tables = {
        key: _read_table(arm, key, where) for key in ("rest", "streak", "delays") if key in arm
    }
    if ways == ["rest"] and "streak" not in tables:
        raise FileError(
            f"{where}, key 'streak' is missing: say what the arm pays when repeated, "
            "such as streak = [0.1]."
        )
    try:
        if ways == ["delays"]:
            return Curve.from_delays(tables["delays"], **settings)
        return Curve(tables["rest"], tables["streak"], **settings)
    except LastSwitchError as error:
        raise FileError(f"{where}, {error}") from error


def _read_shape(arm: Mapping[str, Any], where: str) -> Curve:
    shape = arm["shape"]
    if shape not in list(SHAPES):
        raise FileError(
            f"{where}, key 'shape' must be one of {', '.join(SHAPES)}, got {shown(shape)}"
            f"{suggestion(str(shape), SHAPES)}."
        )
    parameters = inspect.signature(SHAPES[shape]).parameters
    _check_keys(arm, ("name", "shape", *parameters), f"{where}, shape {shape!r}")
    given = {}
    for key, parameter in parameters.items():
        if key in arm:
            value = arm[key]
            if isinstance(value, list):
                value = _read_table(arm, key, where)
            else:
                _check_number(value, f"{where}, key {key!r}")
            given[key] = value
        elif parameter.default is parameter.empty:
            raise FileError(
                f"{where}, key {key!r} is missing: shape {shape!r} needs "
                f"{', '.join(k for k, p in parameters.items() if p.default is p.empty)}."
            )
    try:
        return SHAPES[shape](**given)
    except LastSwitchError as error:
        raise FileError(f"{where}, shape {shape!r}: {error}") from error


def _read_table(arm: Mapping[str, Any], key: str, where: str) -> list[float]:
    """Return a list of numbers; one number alone stands for a list of it."""
    value = arm[key]
    if not isinstance(value, list):
        _check_number(value, f"{where}, key {key!r}")
        return [float(value)]
    for index, entry in enumerate(value):
        _check_number(entry, f"{where}, key {key!r}, entry {index}")
    return [float(entry) for entry in value]


def _check_number(value: Any, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileError(f"{where} must be a number, got {shown(value)}.")
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        raise FileError(f"{where} is too large a number: {shown(value)}.")


def _is_text(name: str) -> bool:
    """Tell whether ``name`` can be written to a file; half a character (a surrogate) cannot."""
    try:
        return bool(name.encode()) or not name
    except UnicodeEncodeError:
        return False


def _check_version(data: Mapping[str, Any], source: str) -> None:
    version = data.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        newer = isinstance(version, int) and not isinstance(version, bool) and version > VERSION
        hint = "upgrade lastswitch to read it" if newer else f"write version = {VERSION}"
        raise FileError(
            f"{source}, key 'version' is {shown(version)}, but this release reads version "
            f"{VERSION}; {hint}."
        )


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise FileError(
                f"{where} has the unknown key {key!r}{suggestion(str(key), known)}; "
                f"known keys are {', '.join(known)}."
            )


def _inline(toml: str) -> str:
    """Put each list of numbers on one line; strings hold no raw line break, so none can match."""
    return re.sub(
        r"\[\n((?: +[-+.\deE]+,\n)+)\]",
        lambda match: "[" + ", ".join(match[1].replace(",", " ").split()) + "]",
        toml,
    )


def _suffix(file: Path) -> str:
    if file.suffix not in (".toml", ".json"):
        raise FileError(f"{file} must end in .toml or .json, to say how it is written.")
    return file.suffix
