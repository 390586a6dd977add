"""Policies in files: one versioned JSON document, written whole, resumed bit for bit."""

from __future__ import annotations

import base64
import json
import math
import os
import zlib
from array import array
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np

from lastswitch._atomic import write_atomic
from lastswitch._checks import check_path
from lastswitch.bandit import Bandit
from lastswitch.errors import FileError, PolicyError
from lastswitch.files import bandit_from_dict, bandit_to_dict
from lastswitch.learning.policy import REGISTRY, Policy, Pull
from lastswitch.learning.tracks import Track

FORMAT, VERSION = "lastswitch-policy", 1


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """Write ``policy`` to ``path`` (see :meth:`Policy.save`)."""
    document = {"format": FORMAT, "version": VERSION, **to_document(policy)}
    try:
        text = json.dumps(encode(document), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise PolicyError(
            f"{type(policy).__name__} cannot be saved: {error}; its parameters, shared attributes, "
            "notes and memories must be JSON values or NumPy arrays."
        ) from error
    return write_atomic(path, text)


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
    >>> again.ask() == policy.ask()
    True
    """
    file = check_path(path)
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise FileError(f"{path} is not JSON: {error}; was it cut short?") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(f"{path} is not a saved policy; write one with policy.save(path).")
    if document.get("version") != VERSION:
        raise FileError(
            f"{path} has version {document.get('version')!r}; this release reads {VERSION}."
        )
    try:
        return from_document(decode(document))
    except FileError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, zlib.error) as error:
        raise FileError(f"{path} is damaged: {error!r}; load an earlier copy.") from error


def to_document(policy: Policy) -> dict[str, Any]:
    """Return everything a policy is made of."""
    return {
        "type": policy.type_name(),
        "parameters": policy.parameters(),
        "state": policy.state(),
        "generator": generator_state(policy.generator),
        "tracks": [[subject, *track.to_row()] for subject, track in policy._tracks.items()],
        "open": [[*pull, note] for pull, note in policy._open.values()],
        "rewards": np.array(policy._rewards, dtype=np.float64),
    }


def from_document(document: dict[str, Any]) -> Policy:
    """Rebuild the policy of :func:`to_document`."""
    policy = policy_class(document["type"])(**document["parameters"])
    policy.restore(document["state"])
    policy.generator = generator_from(document["generator"])
    starts: dict[tuple[int, ...], tuple[int, ...]] = {policy._start: policy._start}
    for subject, *row in document["tracks"]:
        track = Track.from_row(row)
        if not len(track.start) == len(track.last) == policy.n_arms:
            raise FileError(f"the track of subject {subject!r} is not one of {policy.n_arms} arms.")
        track.start = starts.setdefault(track.start, track.start)  # share equal starts
        policy._tracks[subject] = track
    for number, arm, tau, subject, note in document["open"]:
        policy._open[number] = (Pull(number, arm, tau, subject), note)
    policy._rewards = array("d", document["rewards"].tobytes())
    if any(not 0 <= number < len(policy._rewards) for number in policy._open):
        raise FileError(f"a pull beyond the {len(policy._rewards)} asked is outstanding.")
    return policy


def generator_state(rng: np.random.Generator | None) -> dict[str, Any] | None:
    """Return where ``rng`` stands, as JSON-able values."""
    return None if rng is None else dict(rng.bit_generator.state)


def generator_from(state: dict[str, Any] | None) -> np.random.Generator | None:
    """Return a generator that stands where :func:`generator_state` said.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> bool(generator_from(generator_state(rng)).random() == rng.random())
    True
    """
    if state is None:
        return None
    kind = getattr(np.random, state["bit_generator"])
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise FileError(f"{state['bit_generator']!r} is not a bit generator of NumPy's.")
    bits = kind()
    bits.state = state
    return np.random.Generator(bits)


def policy_class(name: str) -> type[Policy]:
    """Return the policy class a file calls ``name``."""
    if name not in REGISTRY and "." not in name:
        _register_own(name)
    if name not in REGISTRY:
        module = name.rpartition(".")[0] or "the module that defines it"
        raise FileError(f"no policy called {name!r} is known here; import {module} first.")
    return REGISTRY[name]


def _register_own(name: str) -> None:
    """Import this package's modules, some of which load only on use, until ``name`` is known."""
    import lastswitch.learning as own

    for module in walk_packages(own.__path__, f"{own.__name__}."):
        import_module(module.name)
        if name in REGISTRY:
            return


def encode(value: Any) -> Any:
    """Return ``value`` with what JSON lacks written as tagged objects.

    That is arrays, infinite floats, bandits and policy factories (a class, or a
    :func:`functools.partial` of one).

    Examples
    --------
    >>> decode(encode({"a": [1, float("inf")]}))
    {'a': [1, inf]}
    """
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes()))
        return {"$array": packed.decode(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        return encode(value.item())
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
        raw = zlib.decompress(base64.b64decode(value["$array"]))
        return np.frombuffer(raw, dtype=value["dtype"]).reshape(value["shape"]).copy()
    if "$float" in value:
        return float(value["$float"])
    if "$bandit" in value:
        return bandit_from_dict(value["$bandit"])
    if "$factory" in value:
        kwargs = decode(value["kwargs"])
        return partial(policy_class(value["$factory"]), *decode(value["args"]), **kwargs)
    return {key: decode(item) for key, item in value.items()}
