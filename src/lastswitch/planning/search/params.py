"""Every constant of the certified solver's search, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchParams:
    """How the certified solver divides its effort; no choice changes what its bound promises.

    The defaults were found on seeded random families of 5 to 50 arms and 4 to 100 slots. *Work* is
    counted in states swept or nodes expanded, so that it is the same on every machine.

    Parameters
    ----------
    tiny_rounds, tiny_arms, tiny_blocks
        Blocks this short with this few arms, and any that are this few in all, are first tried by
        a depth-first search.
    tiny_nodes
        Nodes after which that search gives up: the general one will be faster.
    tiny_share
        Its price of a slot as a share of the best pay there: low enough that arms still claim it.
    large
        Beyond this many slots times arms machines are minimal from the start, and products wait.
    most_states
        Beyond this many states nothing is built: the answer is a greedy block and a plain bound.
    states_per_second
        How many states can be built; with a time limit too short for those there are, the answer
        is that, too.
    most_memory
        Bytes beyond which beams stop widening and products growing, and the answer keeps a gap.
    seed_width, narrow, widen
        Widths: for a first block, of the first pass, and how much wider each pass is.
    beam_room
        Candidates gathered per place in the beam before the worst are dropped.
    steps, more_steps
        Subgradient steps between seed_widths, and before each later pass.
    more_theta, warm_theta
        The largest step size before later passes, and after a warm start.
    patience, shrink, smallest
        Steps without progress before the step size shrinks, how much it then does, and when the
        steps end.
    fade
        How much of the claims of earlier steps each step keeps.
    first_share
        The first price of a slot, as a share of the best pay there (with more arms than slots all
        of it: everyone then claims too much at anything less).
    pair_from, pair_size, pair_growth
        Nodes of a pass times arms from which on machines are taken together in pairs (and, where
        nothing is forbidden, arcs are deleted even before the second pass), and the states all
        pairs may have: per node of the pass, so that they cost about as much; and per state there
        was, so that one that fails costs little.
    pair_tries, pair_overlap, pair_steps, pair_theta
        Pairs that may turn out larger before giving up, the least claims the two must share, the
        steps afterwards and their first size.
    hard_from
        The width of the beam times the third power of the slots from which on everything below is
        tried: the longer the block, the less a wider beam proves.
    shared_hard_from, shared_first_steps, shared_steps
        With shared automata that is the work of a pass from which on parts are planned anew, and
        from which on everything is tried; the steps between seed_widths; and those of a bundle, to
        begin with and before each of the first two passes, and before each later one.
    bundle_steps, bundle_tolerance
        Steps of the bundle method to begin with, and the share of the gap below which what they
        still promise is nothing.
    states_per_cut, cuts
        One cut is kept per so many states, but at least and at most these.
    grow_from
        Work of a pass from which on a product is grown: usually, and for ``large`` problems.
    merge_size, merge_most, merge_left
        Pairs of states that may be listed for a product: per work of the last pass, and at most
        (a product keeps few of them); and the work that each needs, so that none is begun for
        which no time is left.
    grow_over, room, least_room
        Estimates of its size are mostly too large: by how much they may exceed the limit, and what
        to make room for, as a share of them and at least.
    opportunity, opportunity_from
        Whether a move that would be worth it by itself is deleted where it costs others too much;
        with shared automata only after so much work: easier problems are over sooner than that.
    first_pairs, next_arms, most_rivals
        How many pairs, and then machines, are weighed against each other; among how many.
    least_overlap, few_machines
        The least claims a machine must share with the product, unless only a few machines are left.
    merge_steps, merge_rounds, merge_large, merge_reduce
        Steps after a product before arcs are deleted again, if the slack has shrunk to a share;
        and how often, for small products and for those of more than ``merge_large`` states.
    merge_beam, merge_width, wide_rounds
        States of a product from which on a beam looks for a better block first, and its width per
        state. In short blocks it is wider, as it then proves more: with this many slots as wide as
        there are states per machine, and else by the fourth power.
    target_gap, target_share, target_pace, target_most, target_least
        While the gap is larger than the first, proofs aim at a share of it: usually, and for
        ``large`` problems. At more of it if time is short: what an aim takes goes with the gap it
        leaves, to the power ``-1 / target_pace``; beyond the share ``target_most`` there is no
        time for another. A target that is too low is raised half-way to the bound, while that is at
        least the last share of the distance below it.
    close_size, close_after
        With a time limit and more slots times arms than the first, a product of more pairs of
        states than the second is not grown further: a proof is out of reach, lower aims are not.
    close_from, close_perturbation, close_gap
        Pairs listed for a product at first where proofs aim lower, the share of all work that goes
        into better blocks (both usually, and for ``large`` problems), and the gap from which on
        the product is grown for a proof after all.
    free_tries, free_arms, free_rounds, free_shares, free_states, free_more
        Arms are planned anew until that has failed this often per arm: at most so many arms and
        slots at a time, shares of all slots in turn, and no more if they have too many states.
        Where it was in vain, the next time with this many times as many arms and slots.
    free_steps, free_width
        The steps and the width of the beam for that.
    perturbation_from, perturbation_share
        From so much work on while products grow, a share of it goes into a walk from block to
        block: usually, and for ``large`` problems.
    perturbation_patience, perturbation_again, perturbation_stalled
        A walk is tired after so much work, and so many times the work it took to the last better
        block; its share is then at most the third.
    perturbed_tries, perturbations, perturbed_plays, perturbed_loss
        After so many tries in vain a walk steps aside, and after so many steps aside it returns to
        the best block. At most this many slots must then change hands, and at most this share of
        the value is lost.
    reduce_from
        States and arcs from which on some are deleted before the first pass of the beam, where
        nothing is forbidden: with fewer, the pass is over sooner than that.
    reduce_again
        Arcs are deleted again once the slack has shrunk to this share, and the machines are
        exchanged for the smaller ones if those have at most this share of the states and arcs.
    slice
        Work (states or children) between two looks at the clock: some hundredths of a second.

    Examples
    --------
    >>> SearchParams(narrow=4).narrow
    4
    """

    tiny_rounds: int = 8
    tiny_arms: int = 16
    tiny_blocks: int = 5_000
    tiny_nodes: int = 2_000
    tiny_share: float = 0.7
    large: int = 1_000
    most_states: int = 60_000_000
    states_per_second: float = 1e7
    most_memory: int = 1 << 30
    seed_width: int = 8
    narrow: int = 32
    widen: int = 5
    beam_room: int = 4
    steps: tuple[int, ...] = (12, 35)
    more_steps: int = 20
    more_theta: float = 0.1
    warm_theta: float = 0.1
    patience: float = 12.0
    shrink: float = 0.7
    smallest: float = 0.002
    fade: float = 0.95
    first_share: float = 0.8
    pair_from: int = 20_000
    pair_size: float = 0.5
    pair_growth: float = 4.0
    pair_tries: int = 2
    pair_overlap: float = 0.6
    pair_steps: int = 30
    pair_theta: float = 0.5
    hard_from: int = 200_000_000
    shared_hard_from: tuple[int, int] = (64_000_000, 4_000_000_000)
    shared_first_steps: tuple[int, int] = (20, 60)
    shared_steps: tuple[int, int] = (40, 200)
    bundle_steps: int = 100
    bundle_tolerance: float = 3e-3
    states_per_cut: int = 250
    cuts: tuple[int, int] = (32, 100)
    grow_from: tuple[int, int] = (30_000, 3_000_000)
    merge_size: float = 1.5
    merge_most: int = 30_000_000
    merge_left: float = 20.0
    grow_over: float = 2.5
    room: float = 1.25
    least_room: int = 500
    opportunity: bool = True
    opportunity_from: int = 3_000_000
    first_pairs: int = 6
    next_arms: int = 12
    few_machines: int = 4
    most_rivals: int = 500
    least_overlap: float = 0.05
    merge_steps: int = 20
    merge_rounds: tuple[int, int] = (2, 4)
    merge_large: int = 30_000
    merge_reduce: float = 0.8
    merge_beam: int = 20_000
    merge_width: float = 0.01
    wide_rounds: float = 28.0
    target_gap: float = 1e-3
    target_share: tuple[float, float] = (0.6, 0.6)
    target_pace: float = 2 / 3
    target_most: float = 0.8
    target_least: float = 0.04
    close_size: int = 600
    close_after: int = 50_000
    close_from: tuple[int, int] = (4_000_000, 300_000)
    close_perturbation: tuple[float, float] = (0.35, 0.5)
    close_gap: float = 3e-3
    free_tries: int = 2
    free_rounds: int = 60
    free_shares: tuple[float, ...] = (0.6, 0.75, 0.9)
    free_more: float = 1.25
    free_arms: int = 16
    free_states: int = 200_000
    free_steps: int = 20
    free_width: int = 60
    perturbation_from: tuple[int, int] = (40_000_000, 300_000_000)
    perturbation_share: tuple[float, float] = (0.05, 0.5)
    perturbation_patience: int = 10_000_000
    perturbation_again: int = 4
    perturbation_stalled: float = 0.1
    perturbed_tries: int = 5
    perturbations: int = 20
    perturbed_plays: int = 3
    perturbed_loss: float = 0.05
    reduce_from: int = 8_000
    reduce_again: float = 0.95
    slice: int = 2_000_000


#: What is used where a caller gives none; it cannot be changed.
DEFAULT = SearchParams()
