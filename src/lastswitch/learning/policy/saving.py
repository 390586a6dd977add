"""Policies in files: one stamped JSON document, written whole, resumed bit for bit."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np

from lastswitch._utils.atomic import told
from lastswitch._utils.checks import check_path
from lastswitch._utils.codec import (
    array_digest,
    digest,
    load_json,
    pack_array,
    rebuilding,
    save_json,
    unpack_array,
)
from lastswitch.errors import FileError, PolicyError
from lastswitch.learning.policy import REGISTRY, Policy
from lastswitch.learning.rotation.prior import Prior
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import bandit_from_dict, bandit_to_dict
from lastswitch.rules import from_dict
from lastswitch.rules.records import Counting, Succession

try:
    import fcntl
except ImportError:  # Windows: two saves in the same instant are not told apart there
    fcntl = None  # type: ignore[assignment]

KIND, VERSION = "policy", 2
#: What files of earlier versions call a class.
_RENAMED = {"RuledRotationUCB": "RotationUCB"}
_DIGEST = re.compile(r'"digest": *"([0-9a-f]{64})"')


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """Write ``policy`` to ``path`` (see :meth:`Policy.save`)."""
    file = check_path(path)
    try:
        content = encode(
            {
                "type": policy.type_name(),
                "parameters": policy.parameters(),
                **policy.snapshot(),
            }
        )
        with told(file), _locked(file) as found:
            known = policy.files.get(file.resolve())
            if known is not None and found is not None and found != known:
                raise FileError(
                    f"{file} has moved on: another policy was saved there since this one was "
                    "loaded or saved. Load it again and repeat there what this one has heard, or "
                    "save this one under another name."
                )
            save_json(file, KIND, VERSION, content)
    except FileError as error:
        if "cannot be saved" not in str(error):
            raise
        raise PolicyError(
            f"{type(policy).__name__} cannot be saved: {error} Its parameters, shared attributes, "
            "notes and memories must be JSON values or NumPy arrays."
        ) from error
    _remember(policy, file)
    return file


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy written by :meth:`Policy.save`; it goes on exactly where it was.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from lastswitch.learning import FixedCycle
    >>> policy = FixedCycle([0, 1, 1])
    >>> pull = policy.ask()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_policy(policy.save(pathlib.Path(folder) / "policy.json"))
    >>> again.ask().arm == policy.ask().arm
    True
    """
    file = check_path(path)
    content = load_json(file, KIND, VERSION)
    with rebuilding(str(file)):
        document = decode(content)
        policy = policy_class(document["type"])(**document["parameters"])
        policy.resume(document)
    _remember(policy, file)
    return policy


def describe(policy: Policy) -> dict[str, Any]:
    """Return what ``policy`` was built from as plain JSON (see :meth:`Policy.describe`)."""
    parameters = _by_digest(encode(policy.parameters()))
    try:
        digest(parameters)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyError(
            f"{type(policy).__name__} cannot be described: {error}; build it from plain values, "
            "and from policy classes or partials of them."
        ) from error
    return {"type": policy.type_name(), "parameters": parameters}


def policy_class(name: str) -> type[Policy]:
    """Return the policy class a file calls ``name``."""
    name = _RENAMED.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str):
        raise FileError(f"a policy's type is a name, got {name!r:.60}.")
    if name not in REGISTRY and "." not in name:
        _register_own(name)
    if name not in REGISTRY:
        module = name.rpartition(".")[0] or "the module that defines it"
        raise FileError(f"no policy called {name!r:.80} is known here; import {module:.80} first.")
    return REGISTRY[name]


def encode(value: Any) -> Any:
    """Return ``value`` with what JSON lacks written as tagged objects.

    That is arrays, infinite floats, bandits, rules, priors and policy factories (a class, or a
    :func:`functools.partial` of one).

    Examples
    --------
    >>> decode(encode({"a": [1, np.arange(2)]}))
    {'a': [1, array([0, 1])]}
    """
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, Prior):
        return {"$prior": [encode(np.asarray(part, dtype=float)) for part in value]}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Counting | Succession):
        return {"$rule": value.to_dict()}
    if isinstance(value, Bandit):
        return {"$bandit": bandit_to_dict(value)}
    factory = value if isinstance(value, partial) else partial(value) if callable(value) else None
    if factory is not None and isinstance(factory.func, type) and issubclass(factory.func, Policy):
        arguments = {"args": encode(factory.args), "kwargs": encode(factory.keywords)}
        return {"$factory": factory.func.type_name(), **arguments}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def decode(value: Any) -> Any:
    """Undo :func:`encode` (tuples come back as lists)."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return unpack_array(value, "a policy's file")
    if "$float" in value:
        return float(value["$float"])
    if "$prior" in value:
        return Prior(*decode(value["$prior"]))
    if "$rule" in value:
        return from_dict(value["$rule"])
    if "$bandit" in value:
        return bandit_from_dict(value["$bandit"])
    if "$factory" in value:
        kwargs = decode(value["kwargs"])
        return partial(policy_class(value["$factory"]), *decode(value["args"]), **kwargs)
    return {key: decode(item) for key, item in value.items()}


def _by_digest(value: Any) -> Any:
    """Return encoded ``value`` with what is large in it told by its digest."""
    if isinstance(value, dict):
        if "$array" in value:
            return {"$digest": array_digest({"": unpack_array(value, "an argument")})}
        plain = {key: _by_digest(item) for key, item in value.items()}
        return {"$digest": digest(plain)} if {"$prior", "$bandit"} & set(value) else plain
    return [_by_digest(item) for item in value] if isinstance(value, list) else value


def _register_own(name: str) -> None:
    """Import this package's modules, some of which load only on use, until ``name`` is known."""
    import lastswitch.learning as own

    for module in walk_packages(own.__path__, f"{own.__name__}."):
        import_module(module.name)
        if name in REGISTRY:
            return


def _remember(policy: Policy, file: Path) -> None:
    """Note what the file holds now, to notice when another policy is saved there."""
    policy.files[file.resolve()] = _written(file) or ""


def _written(file: Path) -> str | None:
    """Return the digest in the head of ``file``: empty if it has none, None if there is no file."""
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            found = _DIGEST.search(text.read(1000))
    except OSError:
        return None
    return found[1] if found else ""


@contextmanager
def _locked(file: Path) -> Iterator[str | None]:
    """Keep other saves away from ``file``; give what :func:`_written` finds meanwhile.

    A save replaces the file by another one, so a lock on it is worth something only if it is
    still the one that has the name once the lock is had.
    """
    while fcntl is not None and file.is_file():
        try:
            handle = os.open(file, os.O_RDONLY)
        except OSError:  # gone, or not ours to read: the write itself will say
            break
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if file.exists() and os.path.samestat(os.fstat(handle), os.stat(file)):
                yield _written(file)
                return
        finally:
            os.close(handle)
    yield _written(file)
