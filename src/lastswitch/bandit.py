"""The bandit: curves, noise, names and where each arm starts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._checks import check_choice, check_list, check_whole, is_number
from lastswitch.curves import Curve, naming_arm
from lastswitch.errors import BanditError, InputTypeError
from lastswitch.states import States, as_array, as_states

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    def __init__(
        self,
        curves: Iterable[CurveLike],
        noise: Noise = "bernoulli",
        names: Iterable[str] | None = None,
        initial: int | Sequence[int] | NDArray[np.integer] = 1,
        sigma: float = 0.1,
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

    @property
    def n_arms(self) -> int:
        """The number of arms, the paper's K."""
        return len(self.curves)

    def start(self) -> States:
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

    def means(self, tau: ArrayLike) -> NDArray[np.float64]:
        """Return what each arm would pay on average in the state vector ``tau``.

        Examples
        --------
        >>> Bandit([Curve([0.2, 0.9], [0.0]), Curve([0.4], [0.1])]).means([2, -1]).tolist()
        [0.9, 0.1]
        """
        states = as_states(tau)
        if len(states) != self.n_arms:
            raise BanditError(f"a state needs one entry per arm ({self.n_arms}), got {tau!r}.")
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

    def tables(
        self, rest_depth: int, streak_depth: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
        return (
            np.array([curve(rests) for curve in self.curves]).reshape(self.n_arms, rest_depth),
            np.array([curve(streaks) for curve in self.curves]).reshape(self.n_arms, streak_depth),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every curve, rest to the right of zero and streak to the left; return the axes."""
        from lastswitch.figures import draw_curves

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
        from lastswitch.files import write_bandit

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
        width = max(map(len, self.names))
        arms = "".join(
            f"\n  {name:<{width}}  {curve!r}"
            for name, curve in zip(self.names, self.curves, strict=True)
        )
        starts = set(self.initial)
        start = str(starts.pop()) if len(starts) == 1 else str(list(self.initial))
        return f"Bandit({self.n_arms} arms, {noise} rewards, starting at tau {start}){arms}"


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


def _curve(curve: CurveLike, name: str) -> Curve:
    if isinstance(curve, Curve):
        return curve
    if isinstance(curve, tuple) and len(curve) == 2:
        with naming_arm(name):
            return Curve(*curve)
    raise InputTypeError(
        f"arm {name!r} needs a Curve or a pair (rest, streak), got {curve!r}; "
        "for a pay that never changes use lastswitch.curves.constant."
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
    for name, state in zip(names, states.tolist(), strict=True):
        if state == 0:
            raise BanditError(
                f"arm {name!r} cannot start at tau 0: rest counts 1, 2, ... and a streak "
                "-1, -2, ...; for an arm played last round use -1."
            )
    return tuple(states.tolist())
