"""The arms of a cohort as a tree, where all rules count arms that go together.

A plan says for every arm in which rounds it plays. What that is worth depends on the arm's own
rounds only, and what a rule costs that counts some arms together on how many of them play in each
round. If of any two such rules one counts all arms of the other, or none of them, the arms form a
tree: a *leaf* is an arm, a *node* two parts that share out the places of the rounds, and every rule
is counted at the node of just its arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastswitch.cohorts.problem import CohortProblem


@dataclass(frozen=True)
class Event:
    """What one play at a node adds to a rule's automaton: which memory's, which of its counters."""

    memory: int
    counter: int
    per_play: int


@dataclass(frozen=True)
class Node:
    """A set of arms, its two parts (None for at most one arm), and what its plays add to rules."""

    arms: tuple[int, ...]
    parts: tuple[Node, Node] | None
    events: tuple[Event, ...]


def arm_tree(problem: CohortProblem) -> Node | None:
    """Return the tree of a problem's arms; None if it has none.

    The root always has two parts; the second of a single arm has none.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch import rules as r
    >>> from lastswitch.cohorts.problem import CohortProblem
    >>> bandit = ls.Bandit([ls.curves.constant(0.5)] * 4)
    >>> tree = arm_tree(CohortProblem(bandit, 3, rules=[r.apart([1, 3], 2)]))
    >>> [part.arms for part in tree.parts]
    [(1, 3), (0, 2)]
    >>> crossed = [r.apart([1, 3], 2), r.apart([1, 2], 2)]
    >>> arm_tree(CohortProblem(bandit, 3, rules=crossed)) is None
    True
    """
    everyone = tuple(range(problem.n_arms))
    events: dict[tuple[int, ...], list[Event]] = {}
    for m, memory in enumerate(problem.memories):
        for k, counter in enumerate(memory.counters(memory.nothing)):
            per_play = set(counter.letters.values())
            if len(per_play) > 1:
                return None
            arms = tuple(sorted(counter.letters)) or everyone
            each = per_play.pop() if per_play else 0
            events.setdefault(arms, []).append(Event(m, k, each))
    sets = [set(arms) for arms in events]
    if any(a & b and not (a <= b or b <= a) for a in sets for b in sets):
        return None
    tree = _node(everyone, events)
    if tree.parts is None:
        return Node(everyone, (Node(everyone, None, ()), Node((), None, ())), tree.events)
    return tree


def _node(arms: tuple[int, ...], events: dict[tuple[int, ...], list[Event]]) -> Node:
    """Return the node of ``arms``: its largest counted subsets stay together."""
    own = tuple(events.get(arms, ()))
    if len(arms) == 1:
        return Node(arms, None, own)
    inside = [other for other in events if 1 < len(other) < len(arms) and set(other) < set(arms)]
    largest = [a for a in inside if not any(set(a) < set(b) for b in inside)]
    alone = [arm for arm in arms if not any(arm in other for other in largest)]
    items = [_node(other, events) for other in sorted(largest)]
    items += [_node((arm,), events) for arm in alone]
    joined = _joined(items)
    return Node(arms, joined.parts, own)


def _joined(items: list[Node]) -> Node:
    """Return one node of several, halved by the number of arms."""
    if len(items) == 1:
        return items[0]
    total, cut, left = sum(len(item.arms) for item in items), 1, len(items[0].arms)
    while cut < len(items) - 1 and 2 * (left + len(items[cut].arms)) <= total:
        left += len(items[cut].arms)
        cut += 1
    parts = _joined(items[:cut]), _joined(items[cut:])
    return Node(parts[0].arms + parts[1].arms, parts, ())
