"""A warm start: what is known of the curves before the first play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastswitch._utils.checks import check_positive
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning.policy.checks import MOST_COUNTED

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit


class Prior(NamedTuple):
    """Observations made elsewhere: counts and reward sums per (arm, depth).

    Column k of the rest arrays is τ = k + 1, column k of the streak arrays τ = -(k + 1). Counts
    need not be whole: a count of 0.5 is half an observation's worth of belief.

    Examples
    --------
    >>> from lastswitch import Bandit, Curve
    >>> prior = Prior.from_bandit(Bandit([Curve([0.2, 0.8], [0.1])]), strength=5, depth=3)
    >>> prior.rest_sums.tolist()
    [[1.0, 4.0, 4.0]]
    """

    rest_counts: NDArray[np.float64]
    rest_sums: NDArray[np.float64]
    streak_counts: NDArray[np.float64]
    streak_sums: NDArray[np.float64]

    @classmethod
    def from_bandit(cls, bandit: Bandit, strength: float, depth: int = 24) -> Prior:
        """Believe the curves of ``bandit`` as firmly as ``strength`` observations per state."""
        check_positive("strength", strength)
        rest, streak = bandit.tables(depth, depth)
        return cls(
            np.full(rest.shape, float(strength)),
            strength * rest,
            np.full(streak.shape, float(strength)),
            strength * streak,
        )


def read_prior(given: Any, n_arms: int, rewards: tuple[float, float] = (0.0, 1.0)) -> Prior:
    """Return ``given`` as a checked :class:`Prior` of rewards in the range ``rewards``.

    It may be anything with the four arrays of a prior, or with a method ``prior()`` that returns
    such a thing, like a fit of curves to logs.
    """
    source = given.prior() if callable(getattr(given, "prior", None)) else given
    missing = [name for name in Prior._fields if not hasattr(source, name)]
    if missing:
        raise InputTypeError(
            f"prior must be a Prior or have a method prior(), got {type(given).__name__} without "
            f"{', '.join(missing)}; for known curves use Prior.from_bandit(bandit, strength)."
        )
    prior = Prior(*(_matrix(name, getattr(source, name), n_arms) for name in Prior._fields))
    for side, counts, sums in (("rest", *prior[:2]), ("streak", *prior[2:])):
        if counts.shape != sums.shape:
            raise PolicyError(
                f"prior {side}_counts and {side}_sums must have one shape, "
                f"got {counts.shape} and {sums.shape}."
            )
        if (counts < 0).any() or (sums[counts == 0] != 0).any():
            raise PolicyError(f"prior {side}_counts must be 0 or more, with no sum where it is 0.")
        with np.errstate(over="ignore"):
            most = float(counts.sum(axis=1).max())
        if most > MOST_COUNTED:
            raise PolicyError(
                f"prior {side}_counts of an arm must be at most {MOST_COUNTED:g} together, got "
                f"{most:g}; so many say no more than a thousandth of them: divide counts and sums "
                "alike."
            )
        means = sums[counts > 0] / counts[counts > 0]
        slack = 1e-6 * (rewards[1] - rewards[0])
        if means.size and not (
            means.min() >= rewards[0] - slack and means.max() <= rewards[1] + slack
        ):
            raise PolicyError(
                f"prior {side}_sums / {side}_counts run from {means.min():.4g} to "
                f"{means.max():.4g}, outside the rewards {list(rewards)} this policy was told; "
                "build it with rewards=(smallest, largest) of what the prior was counted in."
            )
    return prior


def _matrix(name: str, given: ArrayLike, n_arms: int) -> NDArray[np.float64]:
    """Return one array of a prior, checked."""
    values = np.asarray(given, dtype=float)
    if values.ndim != 2 or len(values) != n_arms or not np.isfinite(values).all():
        raise PolicyError(
            f"prior {name} must be a finite table with one row for each of the {n_arms} arms, "
            f"got shape {values.shape}."
        )
    return values


def with_arm(prior: Prior) -> Prior:
    """Return ``prior`` with one more arm, of which nothing is known."""
    return Prior(*(np.vstack([table, 0.0 * table[:1]]) for table in prior))
