"""The bandit: curves, noise, names and where each arm starts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.checks import LARGEST, check_choice, check_list, check_whole, is_number
from lastswitch._utils.listing import DOZEN, more
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import BanditError, InputTypeError
from lastswitch.model.curves import Curve, naming_arm
from lastswitch.model.packed import pack
from lastswitch.model.states import as_array, as_states, check_reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.rules import Rule

Noise = Literal["bernoulli", "gaussian", "none"]
#: A curve, or its rest and streak tables.
CurveLike: TypeAlias = Curve | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, repr=False)
class Bandit:
    """A Last Switch Dependent bandit, Laforgue et al. (2022), Definition 1.

    Parameters
    ----------
    curves
        One :class:`Curve` per arm; a pair ``(rest, streak)`` stands for ``Curve(rest, streak)``.
    noise
        ``"bernoulli"`` rewards (0 or 1), ``"gaussian"`` with standard deviation ``sigma``, or
        ``"none"``: the mean itself.
    names
        What people call the arms; ``"arm 0"``, ``"arm 1"``, ... when not given.
    initial
        The state every arm starts in, or one per arm. 1 as in the paper's model; -1 for models
        stated in delays, whose delays start at 1.
    sigma
        Standard deviation of ``"gaussian"`` noise.
    groups
        Arms (names or numbers) that go together under a name, for rules; an arm may be in several.
    rules
        What every schedule must respect, made with :mod:`lastswitch.rules`.
    plays
        How many different arms a round plays: a number, or a range such as (0, 1): one or none.
        Kept as a range.
    silence
        What an empty place pays: a round with fewer plays than the most pays it for each missing.

    Examples
    --------
    >>> radio = Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.4])], names=["jazz", "talk"])
    >>> radio.n_arms, radio.mean(0, 2), radio.start().tolist()
    (2, 0.9, [1, 1])
    """

    curves: tuple[Curve, ...]
    noise: Noise
    names: tuple[str, ...]
    initial: tuple[int, ...]
    sigma: float
    groups: dict[str, tuple[str, ...]] = field(hash=False)
    rules: tuple[Rule, ...]
    plays: tuple[int, int]
    silence: float

    def __init__(
        self,
        curves: Iterable[CurveLike],
        noise: Noise = "bernoulli",
        names: Iterable[str] | None = None,
        initial: int | Sequence[int] | NDArray[np.integer] = 1,
        sigma: float = 0.1,
        groups: Mapping[str, Iterable[str | int]] | None = None,
        rules: Iterable[Rule] = (),
        plays: int | tuple[int, int] = 1,
        silence: float = 0.0,
    ) -> None:
        given = check_list("curves", curves, "one curve per arm")
        if not given:
            raise BanditError("a bandit needs at least one arm, got no curves.")
        labels = _names(names, len(given))
        check_choice("noise", noise, get_args(Noise), BanditError)
        if not (is_number(sigma) and 0 <= sigma < math.inf):
            raise BanditError(f"sigma must be a number, at least 0, got {sigma!r}.")
        object.__setattr__(self, "curves", tuple(map(_curve, given, labels)))
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "names", labels)
        object.__setattr__(self, "initial", _initial(initial, labels))
        object.__setattr__(self, "sigma", float(sigma))
        object.__setattr__(self, "groups", _groups(groups, labels))
        object.__setattr__(self, "rules", checked_rules(rules, labels, self.groups))
        object.__setattr__(self, "plays", checked_plays(plays, len(labels)))
        object.__setattr__(self, "silence", checked_silence(silence))

    @property
    def plain(self) -> bool:
        """Whether every round plays exactly one arm and there are no rules.

        Examples
        --------
        >>> Bandit([Curve([1], [0])], plays=(0, 1)).plain
        False
        """
        return not self.rules and self.plays == (1, 1)

    @property
    def n_arms(self) -> int:
        """The number of arms, the paper's K."""
        return len(self.curves)

    def start(self) -> IntArray:
        """Return the state every arm starts in, as a fresh array."""
        return np.array(self.initial, dtype=np.int64)

    def index(self, name: str) -> int:
        """Return the number of the arm called ``name``.

        Examples
        --------
        >>> Bandit([Curve([1], [0]), Curve([0], [0])], names=["jazz", "talk"]).index("talk")
        1
        """
        if not (isinstance(name, str) and name in self.names):
            raise BanditError(f"no arm is called {name!r}; the arms are {list(self.names)}.")
        return self.names.index(name)

    def mean(self, arm: int, tau: int) -> float:
        """Return what ``arm`` pays on average in state ``tau``."""
        return self.curves[self.check_arm(arm)](tau)

    def means(self, tau: ArrayLike) -> FloatArray:
        """Return what each arm would pay on average in the state vector ``tau``.

        Examples
        --------
        >>> Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.1])]).means([2, -1]).tolist()
        [0.9, 0.1]
        """
        states = as_states(tau)
        if len(states) != self.n_arms:
            raise BanditError(f"a state needs one entry per arm ({self.n_arms}), got {tau!r}.")
        # One by one: asked for round by round, of few arms, this is the quickest.
        pays = map(lambda curve, state: curve(state), self.curves, states.tolist())
        return np.fromiter(pays, dtype=float, count=self.n_arms)

    def sample(self, arm: int, tau: int, rng: np.random.Generator) -> float:
        """Draw one reward of ``arm`` in state ``tau``."""
        mean = self.mean(arm, tau)
        if not isinstance(mean, float):  # a list of states pays a list
            raise InputTypeError(f"sample draws in one state, an integer; got {tau!r}.")
        if not isinstance(rng, np.random.Generator):
            raise InputTypeError(
                f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(0); "
                f"got {rng!r}."
            )
        if self.noise == "bernoulli":
            return float(rng.random() < mean)
        if self.noise == "gaussian":
            return mean + self.sigma * float(rng.standard_normal())
        return mean

    def tables(self, rest_depth: int, streak_depth: int) -> tuple[FloatArray, FloatArray]:
        """Return pay by rest ``1..rest_depth`` and by streak ``-1..-streak_depth``, arm by arm.

        Examples
        --------
        >>> rest, streak = Bandit([Curve([0.2, 0.9], [0.1, 0.0])]).tables(3, 2)
        >>> rest.tolist(), streak.tolist()
        ([[0.2, 0.9, 0.9]], [[0.1, 0.0]])
        """
        check_whole("rest_depth", rest_depth, 0)
        check_whole("streak_depth", streak_depth, 0)
        rests = np.arange(1, rest_depth + 1)
        streaks = -np.arange(1, streak_depth + 1)
        packed = pack(self.curves)
        return packed.pays(rests[None]), packed.pays(streaks[None])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every curve, rest to the right of zero and streak to the left; return the axes."""
        from lastswitch.model.figures import draw_curves

        return draw_curves(self, ax)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the bandit to a ``.toml`` or ``.json`` file; ``load_bandit`` gives an equal one.

        TOML is for people, who may edit it; JSON carries a digest, so that damage is noticed.

        Examples
        --------
        >>> import tempfile
        >>> import lastswitch as ls
        >>> bandit = ls.instances.five_arms()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ls.load_bandit(bandit.save(f"{folder}/five.json")) == bandit
        True
        """
        from lastswitch.model.files import write_bandit

        return write_bandit(self, path)

    def check_arm(self, arm: int) -> int:
        """Return ``arm`` if there is one of that number.

        Examples
        --------
        >>> Bandit([Curve([1], [0])]).check_arm(1)
        Traceback (most recent call last):
        lastswitch.errors.BanditError: arm 1 does not exist: arms are numbered 0 to 0.
        """
        if not isinstance(arm, int | np.integer):
            raise InputTypeError(f"an arm is an integer from 0 to {self.n_arms - 1}, got {arm!r}.")
        if not 0 <= arm < self.n_arms:
            raise BanditError(
                f"arm {arm} does not exist: arms are numbered 0 to {self.n_arms - 1}."
            )
        return arm

    def __repr__(self) -> str:
        noise = f"gaussian, sigma={self.sigma:g}" if self.noise == "gaussian" else self.noise
        width = max(map(len, self.names[:DOZEN]))
        arms = "".join(
            f"\n  {name:<{width}}  {curve!r}"
            for name, curve in zip(self.names[:DOZEN], self.curves[:DOZEN], strict=True)
        )
        if self.n_arms > DOZEN:
            arms += f"\n  and {more(self.n_arms, 'all in bandit.names and bandit.curves')}"
        starts = set(self.initial)
        start = str(starts.pop()) if len(starts) == 1 else str(list(self.initial))
        least, most = self.plays
        plays = "" if self.plays == (1, 1) else f", {least} to {most} plays a round"
        rules = "".join(f"\n  rule: {rule}" for rule in self.rules)
        opening = f"Bandit({self.n_arms} arms, {noise} rewards, starting at tau {start}{plays})"
        return f"{opening}{arms}{rules}"


def _names(names: Iterable[str] | None, size: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"arm {index}" for index in range(size))
    labels = tuple(check_list("names", names, "one string per arm"))
    if not all(isinstance(name, str) for name in labels):
        raise InputTypeError(f"names must be a list, one string per arm; got {names!r}.")
    if len(labels) != size:
        raise BanditError(f"names must have one entry per arm ({size}), got {len(labels)}.")
    twice = sorted(name for name, times in Counter(labels).items() if times > 1)
    if twice:
        raise BanditError(f"every arm needs a name of its own, got {twice[0]!r} more than once.")
    return labels


def _groups(
    groups: Mapping[str, Iterable[str | int]] | None, names: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return each group as the names of its arms."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InputTypeError(f"groups must map names to lists of arms, got {groups!r}.")
    checked: dict[str, tuple[str, ...]] = {}
    for group, members in groups.items():
        if not (isinstance(group, str) and group) or group == "everyone":
            raise BanditError(f"a group needs a name of its own, got {group!r}.")
        if group in names:
            raise BanditError(f"{group!r} is an arm; give the group another name.")
        arms = check_list(f"group {group!r}", members, "of arms, by name or number")
        for arm in arms:
            known = arm in names if isinstance(arm, str) else _is_arm(arm, len(names))
            if not known:
                hint = suggestion(arm, names)
                raise BanditError(f"group {group!r} names {arm!r}{hint}; the arms are {names}.")
        if not arms:
            raise BanditError(f"group {group!r} has no arms; name at least one.")
        named = (arm if isinstance(arm, str) else names[arm] for arm in arms)
        checked[group] = tuple(dict.fromkeys(named))
    return checked


def checked_names(
    names: Iterable[str] | None, groups: Mapping[str, Iterable[str | int]] | None, n_arms: int
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return what people call the arms and groups of them.

    Examples
    --------
    >>> checked_names(None, {"both": [0, 1]}, n_arms=2)
    (('arm 0', 'arm 1'), {'both': ('arm 0', 'arm 1')})
    """
    labels = _names(names, n_arms)
    return labels, _groups(groups, labels)


def checked_rules(
    rules: Iterable[Rule], names: tuple[str, ...], groups: Mapping[str, Sequence[str]]
) -> tuple[Rule, ...]:
    """Return the rules as a tuple, after finding all their arms."""
    from lastswitch.rules.records import Counting, Succession

    if isinstance(rules, Counting | Succession):
        raise InputTypeError(f"rules must be a list of rules, got {rules!r} alone; write [rule].")
    given = check_list("rules", rules, "made with lastswitch.rules")
    for rule in given:
        if not isinstance(rule, Counting | Succession):
            raise InputTypeError(f"a rule is made with lastswitch.rules, got {rule!r}.")
        rule.bound(names, groups)
    return tuple(given)


def options_of(
    bandit: Bandit,
    rules: Iterable[Rule] | None,
    plays: int | tuple[int, int] | None,
    silence: float | None,
) -> tuple[tuple[Rule, ...], tuple[int, int], float]:
    """Return a caller's rules, plays and silence, checked; the bandit's own where not given.

    Examples
    --------
    >>> options_of(Bandit([Curve([1], [0])], plays=(0, 1)), [], None, 0.5)
    ((), (0, 1), 0.5)
    """
    return (
        bandit.rules if rules is None else checked_rules(rules, bandit.names, bandit.groups),
        bandit.plays if plays is None else checked_plays(plays, bandit.n_arms),
        bandit.silence if silence is None else checked_silence(silence),
    )


def checked_plays(plays: int | tuple[int, int], n_arms: int) -> tuple[int, int]:
    """Return how many arms a round plays, as a range.

    Examples
    --------
    >>> checked_plays(2, n_arms=5), checked_plays((0, 1), n_arms=5)
    ((2, 2), (0, 1))
    """
    pair = [plays, plays] if isinstance(plays, int | np.integer) else check_list("plays", plays, "")
    if len(pair) != 2:
        raise BanditError(f"plays is a number or a range (least, most), got {plays!r}.")
    least = check_whole("plays", pair[0], 0)
    most = check_whole("plays", pair[1], max(least, 1), most=n_arms)
    return least, most


def checked_silence(silence: float) -> float:
    """Return what an empty place pays."""
    if not (is_number(silence) and abs(silence) <= LARGEST):
        raise BanditError(
            f"silence must be a number, what an empty place pays, of at most {LARGEST:g} in size; "
            f"got {silence!r}."
        )
    return float(silence)


def _is_arm(arm: object, n_arms: int) -> bool:
    number = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
    return number and 0 <= arm < n_arms  # type: ignore[operator]


def _curve(curve: CurveLike, name: str) -> Curve:
    if isinstance(curve, Curve):
        return curve
    if isinstance(curve, tuple) and len(curve) == 2:
        with naming_arm(name):
            return Curve(*curve)
    raise InputTypeError(
        f"arm {name!r} needs a Curve or a pair (rest, streak), got {curve!r}; "
        "for a pay that never changes use lastswitch.model.curves.constant."
    )


def _initial(
    initial: int | Sequence[int] | NDArray[np.integer], names: tuple[str, ...]
) -> tuple[int, ...]:
    states = as_array(initial)
    if not np.issubdtype(states.dtype, np.integer):
        raise InputTypeError(f"initial must be an integer, or one per arm; got {initial!r}.")
    if states.ndim == 0:
        states = np.full(len(names), states)
    if states.shape != (len(names),):
        raise BanditError(
            f"initial must be one integer, or one per arm ({len(names)}); got {initial!r}."
        )
    check_reach(states)
    for name, state in zip(names, states.tolist(), strict=True):
        if state == 0:
            raise BanditError(
                f"arm {name!r} cannot start at tau 0: rest counts 1, 2, ... and a streak "
                "-1, -2, ...; for an arm played last round use -1."
            )
    return tuple(states.tolist())
