"""The one codec of saved nouns: a stamp, a digest, and one way to say what is wrong with a file.

Everything saved is a JSON object that names its kind, its version and the digest of the rest::

    {"format": "lastswitch/plan", "version": 2, "digest": "9f2c…", "block": [0, 1], …}

The digest is SHA-256 over a canonical text (sorted keys, numbers by value, UTF-8), the same on
every platform and however the file is laid out, so a changed number is noticed and a changed
indent is not. JSON knows no infinities; they are written ``{"$float": "inf"}``, and the bare
words ``NaN`` and ``Infinity`` are refused. Formats of another shape (NPZ, Parquet, TOML) keep
:func:`stamp`'s object as their header.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
import tomllib
import types
import typing
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_path, shown
from lastswitch.errors import FileError, LastSwitchError

#: What reads each kind of file that is not the one expected.
LOADERS = {
    kind: f"lastswitch.load_{kind}" for kind in ("bandit", "plan", "policy", "comparison", "fit")
}
_STAMP = ("format", "version", "digest")
_ATOMS = frozenset({str, int, bool, type(None)})
_NOT_FINITE = ("inf", "-inf", "nan")
#: What release 0.1 wrote: ``lastswitch-plan-1``, ``lastswitch-policy``, ...
_OLD = re.compile(r"lastswitch-([a-z]+)(-1)?")
#: Numbers of a file lie between this and its negative, where every whole one is an int64.
_TOO_LARGE = 2**62
#: zlib packs no more than this many bytes into one, whatever they are.
_DENSEST = 1032


def save_json(
    path: str | PathLike[str], kind: str, version: int, content: Mapping[str, Any]
) -> Path:
    """Write ``content``, stamped, to ``path``, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_json(f"{folder}/plan.json", "plan", 2, {"block": [0, 1], "bound": math.inf})
    ...     load_json(file, "plan", 2)
    {'block': [0, 1], 'bound': inf}
    """
    return write_atomic(path, to_text(stamp(kind, version, content)))


def load_json(path: str | PathLike[str], kind: str, version: int) -> dict[str, Any]:
    """Return the content :func:`save_json` wrote; anything else is a ``FileError``."""
    file = check_path(path)
    return unstamp(parse_json(read_text(file), str(file)), kind, version, str(file))


def stamp(kind: str, version: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``content`` as plain JSON values behind its format, version and digest.

    Examples
    --------
    >>> stamped = stamp("plan", 2, {"block": (0, 1)})
    >>> stamped["format"], stamped["version"], stamped["block"]
    ('lastswitch/plan', 2, [0, 1])
    """
    taken = [key for key in _STAMP if key in content]
    if taken:
        raise FileError(f"a saved {kind} cannot have an entry of its own called {taken[0]!r}.")
    try:
        plain = _plain(content)
        return {
            "format": f"lastswitch/{kind}",
            "version": version,
            "digest": digest(plain),
            **plain,
        }
    except RecursionError as error:
        raise FileError(f"this {kind} cannot be saved: it is nested too deep.") from error
    except UnicodeEncodeError as error:
        raise FileError(
            f"this {kind} cannot be saved: {error.object!r:.60} holds half a character "
            "(a lone surrogate), which no file can; correct that name."
        ) from error
    except (TypeError, ValueError) as error:
        raise FileError(f"this {kind} cannot be saved: {error}.") from error


def unstamp(data: object, kind: str, version: int, where: str) -> dict[str, Any]:
    """Return the content of what :func:`stamp` made; ``where`` is what errors call it.

    Examples
    --------
    >>> unstamp(stamp("plan", 2, {"block": [0, 1]}), "plan", 2, "plan.json")
    {'block': [0, 1]}
    >>> unstamp(stamp("policy", 1, {}), "plan", 2, "policy.json")
    Traceback (most recent call last):
    lastswitch.errors.FileError: policy.json is a saved policy, not a plan: load it with ...
    """
    if not isinstance(data, Mapping):
        raise FileError(
            f"{where} is not a saved {kind}: it must hold one object, got {shown(data)}."
        )
    if data.get("format") != f"lastswitch/{kind}":
        _refuse_format(data.get("format"), kind, where)
    _check_version(data.get("version"), kind, version, where)
    content = {key: value for key, value in data.items() if key not in _STAMP}
    try:
        text = _canonical(content)
        found = sha256(text.encode()).hexdigest()
        restored = _restored(content) if '"$float"' in text else content
    except RecursionError as error:
        raise FileError(f"{where} is nested too deep to be a saved {kind}.") from error
    except UnicodeEncodeError as error:
        raise FileError(
            f"{where} is damaged: it holds half a character (a lone surrogate); "
            "load an earlier copy."
        ) from error
    except (TypeError, ValueError) as error:
        raise FileError(f"{where} is damaged: {error}; load an earlier copy.") from error
    if data.get("digest") != found:
        raise FileError(
            f"{where} is damaged or was edited by hand: its content does not match its digest; "
            f"load an earlier copy, or make the {kind} again."
        )
    return restored


def kind_of(file: Path) -> str:
    """Return what a file says it holds, such as ``"plan"``; ``"bandit"`` if it is not stamped."""
    if file.suffix == ".toml":
        return "bandit"
    if _starts_as_archive(file):
        arrays, where = read_arrays(file, "comparison or fit"), str(file)
        with rebuilding(where):
            head = arrays["head"].tobytes().decode() if "head" in arrays else str(arrays["header"])
            data = parse_json(head, where)
    else:
        data = parse_json(read_text(file), str(file))
    found = data.get("format", "lastswitch/bandit") if isinstance(data, Mapping) else None
    if not (isinstance(found, str) and found.startswith("lastswitch/")):
        raise FileError(f"{file} is not a file of lastswitch: its format is {shown(found)}.")
    return found.partition("/")[2]


def _starts_as_archive(file: Path) -> bool:
    try:
        with file.open("rb") as content:
            return content.read(2) == b"PK"
    except (OSError, ValueError):  # reading it as text will say why
        return False


def digest(content: object) -> str:
    """Return the SHA-256 of plain JSON values, whatever the order of their keys.

    Examples
    --------
    >>> digest({"a": 1, "b": [0.5]}) == digest({"b": [0.5], "a": 1.0})
    True
    """
    return sha256(_canonical(content).encode()).hexdigest()


def _canonical(content: object) -> str:
    """Return the one text of plain JSON values: sorted keys, and 2.0 written as 2.

    Programs that know only floats drop the point of a whole number; that is no damage.
    """
    by_value = json.loads(json.dumps(content), parse_float=_number)
    return json.dumps(
        by_value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def array_digest(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """Return the SHA-256 of named arrays: an entry for the header of a file that holds them.

    Examples
    --------
    >>> array_digest({"a": np.arange(3)}) == array_digest({"a": np.arange(1, 4)})
    False
    """
    total = sha256()
    for name in sorted(arrays):
        array = arrays[name]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total.update(repr((name, little.dtype.str, little.shape)).encode())
        total.update(little.tobytes())
    return total.hexdigest()


def pack_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return ``array`` as one compressed JSON value that :func:`unpack_array` reads.

    Examples
    --------
    >>> unpack_array(pack_array(np.array([[0.5, np.inf]])), "counts")
    array([[0.5, inf]])
    """
    if array.dtype.kind not in "biuf":
        raise FileError(f"an array of {array.dtype} cannot be saved; use numbers.")
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    packed = base64.b64encode(zlib.compress(little.tobytes())).decode("ascii")
    return {"$array": packed, "dtype": little.dtype.str, "shape": list(array.shape)}


def unpack_array(data: Mapping[str, Any], where: str) -> np.ndarray[Any, Any]:
    """Return the array :func:`pack_array` packed, never larger than its packed bytes can hold."""
    with rebuilding(where):
        packed, text, shape = data["$array"], data["dtype"], data["shape"]
        dtype = np.dtype(text) if isinstance(text, str) else None
        if dtype is None or dtype.kind not in "biuf":
            raise FileError(f"{where} is damaged: {shown(text)} is no type of number.")
        if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)):
            raise FileError(f"{where} is damaged: {shown(shape)} is no shape of an array.")
        raw, size = base64.b64decode(packed, validate=True), math.prod(shape) * dtype.itemsize
        if size > _DENSEST * len(raw) + 64:
            raise FileError(f"{where} is damaged: it declares {size} bytes and holds far fewer.")
        content = zlib.decompressobj().decompress(raw, size + 1)
        if len(content) != size:
            raise FileError(f"{where} is damaged: it does not hold the {size} bytes it declares.")
        return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def read_arrays(file: Path, kind: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return every array of an NPZ file, which should be a saved ``kind``."""
    try:
        # (NumPy leaves a file open that is no archive, if it opened it.)
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except FileNotFoundError as error:
        raise FileError(f"{file} does not exist; check the path.") from error
    except Exception as error:  # see `rebuilding`: zip, zlib, tokenize, ... each have their own
        raise FileError(f"{file} is not a saved {kind}, or is damaged: {error!s:.200}.") from error


@contextmanager
def rebuilding(where: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file's content becomes an object into a ``FileError``.

    Damage reaches any code behind a loader, so no list of exceptions is ever long enough; what
    was raised stays the cause of the error.

    Examples
    --------
    >>> with rebuilding("plan.json"):
    ...     {}["value"]
    Traceback (most recent call last):
    lastswitch.errors.FileError: plan.json is damaged: it lacks its entry 'value'.
    """
    try:
        yield
    except FileError:
        raise
    except LastSwitchError as error:
        raise FileError(f"{where} is damaged: {error}") from error
    except KeyError as error:
        raise FileError(f"{where} is damaged: it lacks its entry {error}.") from error
    except RecursionError as error:
        raise FileError(f"{where} is nested too deep; no saved file is.") from error
    except Exception as error:
        raise FileError(f"{where} is damaged: {error!r:.300}; load an earlier copy.") from error


def typed(kind: Any, value: Any, entry: str = "an entry") -> Any:
    """Return the value of a file as ``kind``, a type or hint; anything else is a ``FileError``.

    Lists become tuples and tables the dataclass or named tuple they were saved from.

    Examples
    --------
    >>> typed(tuple[int, ...], [1, 2])
    (1, 2)
    >>> typed(str | None, 5, "'zone'")
    Traceback (most recent call last):
    lastswitch.errors.FileError: 'zone' must be str | None, got 5.
    """
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        for option in options:
            try:
                return typed(option, value, entry)
            except FileError:
                continue
    elif origin is typing.Literal:
        if isinstance(value, str) and value in options:
            return value
    elif origin is tuple and isinstance(value, list):
        if options[1:] == (Ellipsis,):
            return tuple(typed(options[0], each, entry) for each in value)
        if len(options) == len(value):
            return tuple(map(typed, options, value, [entry] * len(value)))
    elif dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        if isinstance(value, Mapping) and set(value) == set(hints):
            return kind(**{key: typed(hint, value[key], repr(key)) for key, hint in hints.items()})
    elif kind is float:
        if type(value) in (int, float) and -_TOO_LARGE < value < _TOO_LARGE:
            return float(value)
    elif kind is int:
        if type(value) is int and abs(value) < _TOO_LARGE:
            return value
    elif kind in (str, bool, type(None)) and type(value) is kind:
        return value
    name = getattr(kind, "__name__", None) if origin is None else kind
    raise FileError(f"{entry} must be {name}, got {shown(value)}.")


def to_text(stamped: Mapping[str, Any]) -> str:
    """Return what a file holds: one entry a line, so that two versions can be compared."""
    lines = (
        f"  {json.dumps(key, ensure_ascii=False)}: "
        f"{json.dumps(value, ensure_ascii=False, allow_nan=False)}"
        for key, value in stamped.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_text(file: Path) -> str:
    """Return the text of a file; a byte-order mark, as some editors leave, is no part of it."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileError(f"{file} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise FileError(f"{file} is a folder; name a file in it.") from error
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(
            f"{file} is not text in UTF-8 (byte {error.start}: {error.reason}); "
            "was it cut short, or saved by another program?"
        ) from error
    except ValueError as error:  # a path with a null byte in it
        raise FileError(f"{str(file)!r} cannot be read: {error}.") from error


def parse_json(text: str, where: str) -> Any:
    """Return the values of a JSON text; the words that are not JSON are refused by name.

    Examples
    --------
    >>> parse_json('{"value": NaN}', "plan.json")
    Traceback (most recent call last):
    lastswitch.errors.FileError: plan.json is not JSON: it holds the bare word NaN, ...
    """

    def refuse(word: str) -> NoReturn:
        raise FileError(
            f"{where} is not JSON: it holds the bare word {word}, "
            'which files of this library write as {"$float": "…"}.'
        )

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise FileError(f"{where} is nested too deep; no saved file is.") from error
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{where} is not JSON: {error}; was it cut short?") from error


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a TOML text that a person wrote.

    Examples
    --------
    >>> parse_toml("horizon = ", "sweep.toml")
    Traceback (most recent call last):
    lastswitch.errors.FileError: sweep.toml is not valid TOML: Invalid value (at end of document).
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise FileError(f"{where} is nested too deep; no file of ours is.") from error
    except ValueError as error:
        raise FileError(f"{where} is not valid TOML: {error}.") from error


def _refuse_format(found: object, kind: str, where: str) -> NoReturn:
    """Say whose file this is, if it is one of ours."""
    text = found if isinstance(found, str) else ""
    if old := _OLD.fullmatch(text):
        raise FileError(
            f"{where} is a {old[1]} written by lastswitch 0.1 ({text!r}), which this release does "
            f"not read: make the {old[1]} again, or read the file with that release."
        )
    family, _, other = text.partition("/")
    if family == "lastswitch" and other:
        loader = f": load it with {LOADERS[other]}" if other in LOADERS else ""
        raise FileError(f"{where} is a saved {other}, not a {kind}{loader}.")
    raise FileError(
        f"{where} is not a saved {kind}: its format must be 'lastswitch/{kind}', "
        f"got {shown(found)}."
    )


def _check_version(found: object, kind: str, version: int, where: str) -> None:
    if type(found) is int and found == version:
        return
    if type(found) is not int or found < 1:
        raise FileError(f"{where} is damaged: its version is {shown(found)}, not a number.")
    advice = (
        "upgrade lastswitch to read it"
        if found > version
        else f"make the {kind} again, or read it with the release that wrote it"
    )
    raise FileError(
        f"{where} is a {kind} of version {found}, and this release reads version {version}: "
        f"{advice}."
    )


def _plain(value: Any) -> Any:
    """Return ``value`` in JSON's own types; what has no equal there is a ``TypeError``."""
    if type(value) in _ATOMS:
        return value
    if isinstance(value, list | tuple):  # most of a large file: atoms are not asked one by one
        return [item if type(item) in _ATOMS else _plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {shown(key)} is not a string")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, str | int):  # subclasses: enumerations and the like
        return str(value) if isinstance(value, str) else int(value)
    raise TypeError(f"{shown(value)} is not a number, a string, a list or a table of them")


def _restored(value: Any) -> Any:
    """Undo what :func:`_plain` did to infinities."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1 and value.get("$float") in _NOT_FINITE:
            return float(value["$float"])
        return {key: _restored(item) for key, item in value.items()}
    return value
