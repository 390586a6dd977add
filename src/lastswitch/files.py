"""Bandits and plans as files: TOML a person can write by hand, JSON for machines.

A bandit's file holds ``noise``, ``sigma`` and ``initial`` (all optional) and one ``[[arms]]``
table per arm. An arm has a ``name`` and says what it pays in one of three ways::

    [[arms]]
    name = "jazz"
    rest = [0.2, 0.5, 0.9]     # after 1, 2, 3 or more rounds of rest
    streak = [0.3, 0.1]        # after 1, 2 or more plays in a row

    [[arms]]
    name = "talk"
    shape = "step"             # a named shape of lastswitch.curves, with its parameters
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
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._atomic import write_atomic
from lastswitch._checks import check_bandit, check_path, shown
from lastswitch._suggest import suggestion
from lastswitch.bandit import Bandit
from lastswitch.curves import SHAPES, Curve
from lastswitch.errors import (
    BanditError,
    CurveError,
    FileError,
    InputTypeError,
    LastSwitchError,
    RuleError,
)
from lastswitch.instances import INSTANCES, instance

if TYPE_CHECKING:
    from lastswitch.planning.plan import Plan
    from lastswitch.rules import Rule

#: The version of the format this release writes; it reads no other.
VERSION = 1

_TOP_KEYS = ("version", "noise", "sigma", "initial", "arms", "groups", "plays", "silence", "rules")
#: What an arm may say next to each of the three ways to give its curve.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "rest": ("rest", "streak", "tail", "monotone"),
    "delays": ("delays", "tail"),
    "shape": ("shape",),  # and the parameters of that shape
}


def load_bandit(path: str | PathLike[str]) -> Bandit:
    r"""Read a bandit from a ``.toml`` or ``.json`` file.

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
    return bandit_from_dict(_read(file, _suffix(file)), source=str(file))


def save_bandit(bandit: Bandit, path: str | PathLike[str]) -> Path:
    """Write ``bandit`` to a ``.toml`` or ``.json`` file; loading it gives an equal bandit.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lastswitch.instances import five_arms
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_bandit(save_bandit(five_arms(), f"{folder}/five.json")) == five_arms()
    True
    """
    check_bandit("save_bandit", bandit)
    file = check_path(path)
    data = bandit_to_dict(bandit)
    return _write_json(file, data) if _suffix(file) == ".json" else write_atomic(file, to_toml(data))


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


def save_plan(plan: Plan, path: str | PathLike[str]) -> Path:
    """Write ``plan`` to a JSON file, with its problem and its certificate.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> plan = ls.plan_block(ls.instances.five_arms(), 6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_plan(save_plan(plan, f"{folder}/plan.json")).block == plan.block
    True
    """
    from lastswitch.planning.plan import Plan

    if not isinstance(plan, Plan):
        raise InputTypeError(f"save_plan needs a Plan, got {type(plan).__name__}.")
    return _write_json(check_path(path), plan.to_dict())


def load_plan(path: str | PathLike[str]) -> Plan:
    """Read a plan that :func:`save_plan` (or ``lastswitch plan --json``) wrote, and check it.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_plan(ls.plan_cycle(ls.instances.two_arms(), 2), f"{folder}/plan.json")
    ...     load_plan(file).optimal
    True
    """
    from lastswitch.planning.plan import Plan

    file = check_path(path)
    data = _read(file, ".json")
    try:
        return Plan.from_dict(data)
    except LastSwitchError as error:
        raise FileError(f"{file}: {error}") from error


def bandit_to_dict(bandit: Bandit) -> dict[str, Any]:
    """Return ``bandit`` as plain lists, strings and numbers, as a file holds it.

    Examples
    --------
    >>> from lastswitch.curves import constant
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
    curves, names = [], []
    for index, arm in enumerate(arms):
        where = f"{source}: arms[{index}]"
        if not isinstance(arm, Mapping):
            raise FileError(f"{where} must be a table, got {shown(arm)}.")
        name = arm.get("name", f"arm {index}")
        if not isinstance(name, str):
            raise FileError(f"{where}, key 'name' must be a string, got {shown(name)}.")
        names.append(name)
        curves.append(_read_curve(arm, f"{where} ({name!r})"))
    given = ("noise", "sigma", "initial", "groups", "plays", "silence")
    settings = {key: data[key] for key in given if key in data}
    settings["rules"] = _read_rules(data.get("rules", []), source)
    if "sigma" in settings:
        _check_number(settings["sigma"], f"{source}: key 'sigma'")
    try:
        return Bandit(curves, names=names, **settings)
    except (BanditError, InputTypeError, RuleError) as error:
        raise FileError(f"{source}: {error}") from error


def _read_rules(tables: Any, source: str) -> list[Rule]:
    """Return the rules of a file's [[rules]]."""
    from lastswitch.rules import from_dict

    if not isinstance(tables, Sequence) or isinstance(tables, str):
        raise FileError(f"{source}: rules must be [[rules]] tables, got {_show(tables)}.")
    rules = []
    for index, table in enumerate(tables):
        try:
            rules.append(from_dict(table))
        except (RuleError, InputTypeError) as error:
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
    except CurveError as error:
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
    except CurveError as error:
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


def _read(file: Path, suffix: str) -> Any:
    """Return what a TOML or JSON file holds."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileError(f"{file} does not exist; check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{file} cannot be read as text: {error}.") from error
    try:
        return tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise FileError(f"{file} is not valid {suffix[1:].upper()}: {error}.") from error


def _write_json(file: Path, data: Mapping[str, Any]) -> Path:
    return write_atomic(file, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _suffix(file: Path) -> str:
    if file.suffix not in (".toml", ".json"):
        raise FileError(f"{file} must end in .toml or .json, to say how it is written.")
    return file.suffix
