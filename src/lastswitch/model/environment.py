"""The bandit as a Gymnasium environment, registered as ``lastswitch/LSD-v0``.

Importing this module registers it;
``gymnasium.make("lastswitch.model.environment:lastswitch/LSD-v0")`` does both at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.arrays import IntArray
from lastswitch._utils.checks import check_bandit, check_whole
from lastswitch._utils.extras import load_extra
from lastswitch.errors import BanditError, StateError
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import find_bandit
from lastswitch.planning.playing import states_after
from lastswitch.rules.automata.keeping import Keeper

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = load_extra("gymnasium", "gym")

#: The name the environment is registered under.
ENV_ID = "lastswitch/LSD-v0"


class LSDEnv(gymnasium.Env[IntArray, np.int64]):
    """An LSD bandit to play for ``horizon`` rounds.

    The observation is the state of every arm (rounds of rest, or minus the plays in a row), the
    action is the arm to play, the reward is drawn from the bandit. An episode is truncated after
    ``horizon`` rounds; ``info["mean"]`` is the mean of the reward drawn, so that regret can be
    measured without noise.

    If the bandit has rules, ``info["action_mask"]`` says which actions break no hard rule now (1)
    and the others (0) are refused; an episode without a legal action terminates. If a round may be
    silent (``plays=(0, 1)``) the action after the last arm is silence. What a round breaks of soft
    rules is taken from its reward and its mean, and stands in ``info["cost"]``: rewards add up to
    what ``optimal_total`` maximises.

    Parameters
    ----------
    bandit
        A :class:`Bandit`, or the file or instance it comes from (see ``find_bandit``).
    horizon
        Rounds in an episode.

    Examples
    --------
    >>> env = LSDEnv("example-1:0.25", horizon=2)
    >>> observation, _ = env.reset(seed=0)
    >>> observation.tolist()
    [1, 1]
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> observation.tolist(), reward, truncated, info
    ([-1, 2], 1.0, False, {'mean': 1.0})
    """

    def __init__(self, bandit: Bandit | str, horizon: int) -> None:
        check_whole("horizon", horizon, least=1)
        self.bandit = find_bandit(bandit) if isinstance(bandit, str) else bandit
        check_bandit("the environment", self.bandit)
        self.horizon = horizon
        reach = horizon + max(abs(tau) for tau in self.bandit.initial)
        self.observation_space = gymnasium.spaces.Box(
            -reach, reach, shape=(self.bandit.n_arms,), dtype=np.int64
        )
        least, most = self.bandit.plays
        if most > 1:
            raise BanditError(
                f"the environment plays one arm a round, and this bandit plays {least} to {most}; "
                "plan it with plan_block instead."
            )
        self.action_space = gymnasium.spaces.Discrete(self.bandit.n_arms + (least == 0))
        self._keeper: Keeper | None = None
        self._states: IntArray = self.bandit.start()
        self._left = 0  # nothing to play before the first reset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[IntArray, dict[str, Any]]:
        """Put every arm back where it starts; ``seed`` makes the rewards repeatable."""
        super().reset(seed=seed)
        self._states = self.bandit.start()
        self._left = self.horizon
        self._keeper = None if self.bandit.plain else Keeper(self.bandit, self.horizon)
        return self._states.copy(), self._mask()

    def step(self, action: np.int64 | int) -> tuple[IntArray, float, bool, bool, dict[str, Any]]:
        """Play one arm."""
        if self._left == 0:
            raise StateError("the episode is over, or has not begun: call reset() before step().")
        if not self.action_space.contains(action):
            raise BanditError(
                f"an action is an arm from 0 to {self.bandit.n_arms - 1}, got {action!r}."
            )
        arms, cost = [int(action)] if action < self.bandit.n_arms else [], 0.0
        if self._keeper is not None:
            if not self._keeper.legal(arms):
                raise BanditError(
                    f"action {action} breaks a rule now; choose one whose info['action_mask'] is 1."
                )
            cost = self._keeper.play(arms)
        mean = reward = self.bandit.silence
        if arms:
            tau = int(self._states[arms[0]])
            mean, reward = (
                self.bandit.mean(arms[0], tau),
                self.bandit.sample(arms[0], tau, self.np_random),
            )
        self._states = np.array(states_after(self._states, (tuple(arms),)))
        self._left -= 1
        info: dict[str, Any] = {"mean": mean - cost}
        if self._keeper is not None:
            info["cost"] = cost
        info |= self._mask() if self._left else {}
        stuck = "action_mask" in info and not np.any(info["action_mask"])
        return self._states.copy(), reward - cost, stuck, self._left == 0, info

    def _mask(self) -> dict[str, Any]:
        """Return which actions break no hard rule, if there are any rules."""
        if self._keeper is None:
            return {}
        sets = [[arm] for arm in range(self.bandit.n_arms)]
        if self.bandit.plays[0] == 0:
            sets.append([])
        return {"action_mask": np.array([self._keeper.legal(arms) for arms in sets], np.int8)}


gymnasium.register(ENV_ID, entry_point="lastswitch.model.environment:LSDEnv")
