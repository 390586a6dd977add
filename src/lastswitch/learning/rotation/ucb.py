"""RotationUCB: optimistic planning from the actual state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lastswitch._utils.checks import check_choice, check_positive, check_whole
from lastswitch.errors import PolicyError
from lastswitch.learning.policy import ONE_PLAY, Mask, Policy, Pull
from lastswitch.learning.policy.checks import check_cells
from lastswitch.learning.policy.tracks import Track
from lastswitch.learning.rotation.books import STREAKS
from lastswitch.learning.rotation.indices import INDICES
from lastswitch.learning.rotation.learner import LOOK_AHEADS, Options, Rotation
from lastswitch.learning.rotation.prior import read_prior
from lastswitch.learning.rotation.rules import RuleBook
from lastswitch.model.bandit import checked_names, checked_rules, checked_silence
from lastswitch.planning.playing import as_rounds, states_after
from lastswitch.rules.records import Rule

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

Pooling = Literal["all", "none", "partial"]
IndexName = Literal["reservation", "kl-ucb", "ucb1", "empirical-bernstein", "thompson"]


class RotationUCB(Policy):
    r"""Plays the best plan under optimistic curves, from the states the arms are in.

    The learner always knows every state, so it neither calibrates nor forgets: it keeps what each
    (arm, state) paid, believes of each the most that is plausible, plans some rounds ahead from
    where the arms stand, plays the first few of them and plans again. It needs no horizon and, on
    rewards in [0, 1], no tuning.

    - *Belief.* A posterior over kinds of curves, by which states share what was seen of them, and
      of each state the pay at which looking is just worth its price
      (:mod:`lastswitch.learning.rotation.belief`); a longer streak is never believed to pay more.
      Tables start ``depth`` rests deep, their last entry pooling what is deeper, and an arm's
      table deepens (up to ``max_depth``) once that tail was seen; with the other indices, when its
      best cycle waits for the tail or when the tail's states pay unlike each other. Tables are made
      again where what is believed of a state may have moved, and all of them whenever plays have
      grown by a tenth.
    - *Plan.* A beam search over ``lookahead`` rounds. What the arms' last states are worth is added
      at the end: with a price per slot, each arm alone has a best cycle, and being closer to it is
      worth more. This keeps a short plan from being short-sighted. What that worth gets wrong could
      hold a plan in a loop well below the best, so plans are measured by a good cycle, searched for
      whenever plays have grown by a quarter (:mod:`lastswitch.learning.rotation.cycle`): a plan
      must earn what going to that cycle would, or the cycle is played.
    - *Pace.* ``commitment`` plays are made before news is looked at; a plan made on tables that
      still stand is then followed on. With several subjects each plans one play at a time. Plays
      whose reward is still out count at once, at the mean so far, so that many subjects do not all
      try the same thing.

    **Guaranteed:** arms that are not allowed are never played; :meth:`bound` is at least what any
    schedule earns per round if no optimistic value is below the truth; with every index but
    Thompson's each state in the table is, in the long run, believed better the longer it is left
    unseen, so no belief is final. **Only observed:** the share of the optimum it earns
    (``benchmarks/learning.py``). Logarithmic regret is known for optimistic play of whole cycles
    (Ortner 2010); no such proof is claimed here, where exploration is smaller than that proof's.
    Structure deeper than ``max_depth`` is not seen, and rises along a streak are believed away.

    *With rules, or rounds of several plays or none*, what every rule remembers is a part of the
    state plans are made from. **Guaranteed:** no hard rule is ever broken by its choices: it makes
    only plays from which all of them can be kept for ever
    (:mod:`lastswitch.rules.automata.endless`). An ``allowed`` that leaves no such play is refused.
    Rounds that the caller lets go by (``at``, ``advance``) count as rounds without plays; if they
    break a rule, or leave no way to keep one, what is broken from then on is as little as can be.
    Rules speak of rounds by their numbers on the subject's clock, so a window of days is the same
    window for a subject who comes later; of what was before its first round a rule knows
    ``history``. Such plans are not measured by a cycle, and subjects share all they see.

    Parameters
    ----------
    n_arms
        Number of arms.
    index
        ``"reservation"``, see :mod:`lastswitch.learning.rotation.belief`; or one that judges each
        state by itself: ``"kl-ucb"``, ``"ucb1"``, ``"empirical-bernstein"`` or ``"thompson"``, see
        :mod:`lastswitch.learning.rotation.indices`.
    depth, max_depth
        Rests an arm's table starts with, and the most it may deepen to.
    streak_depth
        Streak states told apart; the last pools longer ones.
    lookahead
        Rounds planned ahead.
    width
        Plans kept per round of the search.
    commitment
        Plays made before news can change the plan, when there is one subject.
    alpha
        How much doubt the KL-UCB, UCB1 and Bernstein indices keep.
    memory
        Rounds after which a reward counts for 1/e: for curves that move. Without it nothing is
        forgotten.
    pooling
        What subjects share: ``"all"`` they see, ``"none"`` of it, or ``"partial"``, as much as
        their rewards say they are alike (:mod:`lastswitch.learning.rotation.pooling`). Other than
        ``"all"`` every plan is made on tables of the subject's own, about a millisecond each.
    initial, rewards
        As in :class:`~lastswitch.learning.Policy`.
    prior
        A :class:`~lastswitch.learning.Prior`, or a fit of curves to logs: its
        counts are taken as if seen here. Its rewards are in the range of ``rewards``, and its
        rounds are the rounds of ``ask`` and ``advance``.
    seed
        Seeds the draws of Thompson sampling.
    rules
        What is kept, made with :mod:`lastswitch.rules`: hard ones, and soft ones at their price.
        They speak of windows (``within``), periods (``every``) or certain rounds; a whole block
        has no meaning here.
    plays
        How many different arms a round plays: a number, or a range such as (0, 1). Unless it is 1,
        ask with :meth:`ask_round`.
    silence
        What an empty place of a round pays, as a reward. It is known, and never explored.
    names, groups
        What rules call the arms.
    history
        Rounds before the first, the latest last: arms, lists of arms, or None for silence;
        ``initial`` are the states before it.

    Examples
    --------
    >>> import lastswitch as ls
    >>> radio = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)])
    >>> run = ls.simulate(radio, ls.RotationUCB(n_arms=2), horizon=2000, seed=0)
    >>> bool(run.mean_total > 0.95 * ls.optimal_total(radio, 2000).value)
    True
    >>> from lastswitch import rules as r
    >>> mails = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)], plays=(0, 1),
    ...                   silence=0.4, rules=[r.at_most("everyone", 2, within=3)])
    >>> run = ls.simulate(mails, ls.RotationUCB.for_bandit(mails), horizon=1500, seed=0)
    >>> bool(run.mean_total > 0.97 * 1500 * ls.optimal_average(mails).value)
    True
    """

    def __init__(
        self,
        n_arms: int,
        *,
        index: IndexName = "reservation",
        depth: int = 24,
        max_depth: int = 64,
        streak_depth: int = 4,
        lookahead: int = 24,
        width: int = 24,
        commitment: int = 4,
        alpha: float = 0.4,
        memory: float | None = None,
        pooling: Pooling = "all",
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        prior: Any = None,
        seed: int = 0,
        rules: Iterable[Rule] = (),
        plays: int | tuple[int, int] = 1,
        silence: float = 0.0,
        names: Iterable[str] | None = None,
        groups: Mapping[str, Iterable[str | int]] | None = None,
        history: Iterable[object] = (),
    ) -> None:
        super().__init__(n_arms, initial=initial, rewards=rewards, seed=seed, plays=plays)
        depth = check_whole("depth", depth, 1, PolicyError)
        check_choice("pooling", pooling, ("all", "none", "partial"), PolicyError)
        check_choice("index", index, ("reservation", *INDICES, "thompson"), PolicyError)
        options = Options(
            index,
            depth,
            max(depth, check_whole("max_depth", max_depth, 1, PolicyError)),
            check_whole("streak_depth", streak_depth, 1, PolicyError, STREAKS),
            check_whole("lookahead", lookahead, 1, PolicyError),
            check_whole("width", width, 1, PolicyError),
            check_whole("commitment", commitment, 1, PolicyError),
            check_positive("alpha", alpha),
            None if memory is None else check_positive("memory", memory),
            pooling,
            self.rewards,
        )
        if options.memory is not None and pooling != "all":
            raise PolicyError(
                f"memory is not kept with pooling={pooling!r}: only what all subjects share fades; "
                'leave memory out, or pool "all".'
            )
        if options.commitment > options.lookahead:
            raise PolicyError(
                f"commitment must not exceed the lookahead, got {commitment} > {lookahead}; "
                "no more can be played than was planned."
            )
        check_cells("its search", options.width * (LOOK_AHEADS * options.lookahead + self.n_arms))
        self.names, self.groups = checked_names(names, groups, self.n_arms)
        self.rules = checked_rules(rules, self.names, self.groups)
        self.silence = checked_silence(silence)
        self.history = as_rounds(history, self.names, "history")
        if self.history:
            self._start_in(states_after(self.start, self.history))
        book = self._rule_book() if self.rules or self.plays != ONE_PLAY else None
        if book is not None and pooling != "all":
            raise PolicyError(
                f"under rules subjects share all they see, got pooling={pooling!r}; leave it out."
            )
        given = None if prior is None else read_prior(prior, self.n_arms, self.rewards)
        #: What it has seen, believes and plans.
        self.learner = Rotation(self.n_arms, options, given, book, self.generator)

    @classmethod
    def for_bandit(
        cls,
        bandit: Bandit,
        *,
        rewards: Sequence[float] = (0.0, 1.0),
        seed: int = 0,
        **options: Any,
    ) -> RotationUCB:
        """Return a learner for what is known of ``bandit``: arms, rules, plays and silence.

        Its curves are not looked at; ``options`` are the learner's own.

        Examples
        --------
        >>> import lastswitch as ls
        >>> pairs = ls.Bandit([ls.curves.step(2, 0.9)] * 3, plays=2)
        >>> len(ls.RotationUCB.for_bandit(pairs).ask_round())
        2
        """
        options |= {"initial": bandit.initial, "rewards": rewards, "seed": seed}
        if not bandit.plain:
            known = ("rules", "plays", "silence", "names", "groups")
            options = {name: getattr(bandit, name) for name in known} | options
        return cls(bandit.n_arms, **options)

    @property
    def bound(self) -> float:
        """The most any schedule could earn per round if the optimistic tables were true.

        The tables are those of the latest plan, so asking changes nothing; before any, it is 1.
        """
        return self.learner.bound

    # Asking.

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the next arm of the plan, planning when none is left or a mask is given."""
        learner = self.learner
        if learner.rules is not None:
            if self.plays != ONE_PLAY:
                raise self._plays_rounds()
            arms = learner.decide_round(track, allowed, self.tracks)
            learner.played_round(track, arms)
            return arms[0]
        arm = learner.decide(track, allowed, self.tracks)
        learner.played(arm, track.clock - track.last[arm] or track.tau(arm))
        return arm

    def choose_round(self, track: Track, allowed: Mask | None) -> tuple[int, ...]:
        """Return the arms of the next round of the plan, planning where none is left."""
        return self.learner.decide_round(track, allowed, self.tracks)

    def playing(self, track: Track, arms: tuple[int, ...]) -> None:
        """Count the plays as out, and let every rule hear of them."""
        self.learner.played_round(track, arms)

    # Learning.

    def learn(self, pull: Pull, reward: float, note: Any) -> None:
        """Add the reward to what its (arm, state) has paid."""
        _, arm, tau, subject = pull
        self.learner.paid(arm, tau, reward, self.tracks[subject])

    def missed(self, pull: Pull, note: Any) -> None:
        """Forget a play whose reward will never come."""
        self.learner.missed(pull.arm, pull.tau)

    def grow(self, prior: Any) -> None:
        """Make room for one more arm, of which ``prior`` may say something."""
        if self.learner.rules is not None:
            raise PolicyError(
                "rules do not know a new arm; build a new policy with the rules it is to keep."
            )
        self.learner.grow(prior)

    def retiring(self, arm: int) -> None:
        """Believe nothing more of ``arm``, so that no plan waits for it."""
        self.learner.retire(arm)

    # Keeping.

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments, from which an equal policy can be built."""
        learner = self.learner
        known = ("initial", "seed", "rules", "plays", "silence", "history")
        called = {} if learner.rules is None else {"names": self.names, "groups": self.groups}
        return {
            "n_arms": self.n_arms,
            **vars(learner.options),
            "prior": learner.prior,
            **{name: getattr(self, name) for name in known},
            **called,
        }

    def learned(self) -> dict[str, Any]:
        """Return what was seen and believed."""
        return self.learner.learned()

    def relearn(self, learned: dict[str, Any]) -> None:
        """Take back what was seen and believed."""
        self.learner.relearn(learned)

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse a subject whose memory cannot be what this policy left there."""
        shared = self.learner.rules is None and self.learner.options.pooling == "all"
        if shared and isinstance(track.memory, list):  # of a version that planned this in rounds
            track.memory = None
        self.learner.check_track(track)

    def _rule_book(self) -> RuleBook:
        """Return the rules for the learner; they are refused if they cannot be kept."""
        low, high = self.rewards
        bound = [rule.bound(self.names, self.groups) for rule in self.rules]
        silence = (self.silence - low) / (high - low)
        return RuleBook(bound, self.n_arms, self.plays, self.history, silence, high - low)


#: The name of a learner that kept rules; every learner does.
RuledRotationUCB = RotationUCB
