"""``lastswitch optimum``: the best a bandit can pay, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lastswitch.cli._arguments import BanditArgument

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.planning.optima.optimum import Optimum

#: Rounds of a long sequence shown in the terminal; --json has all of them.
_SHOWN = 60


def optimum(
    bandit: BanditArgument,
    horizon: Annotated[
        int | None,
        typer.Option(help="Best total over this many rounds, instead of the best average."),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(help="Best average of cycles of at most this many rounds."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds to search when the exact optimum is out of reach."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the best average (or total) any policy can earn, and a schedule that earns it."""
    from json import dumps

    from lastswitch.errors import PlanError
    from lastswitch.model.files import find_bandit
    from lastswitch.planning import best_cycle, optimal_average, optimal_total

    if horizon is not None and max_length is not None:
        raise PlanError("--horizon and --max-length ask for two different optima; give one.")
    found = find_bandit(bandit)
    if max_length is not None:
        plan = best_cycle(found, max_length, time_limit=time_limit)
        typer.echo(dumps(plan.to_dict(), indent=2) if json else str(plan))
        return
    if horizon is not None:
        best = optimal_total(found, horizon, time_limit=time_limit)
    else:
        best = optimal_average(found, time_limit=time_limit)
    typer.echo(dumps(best.to_dict(found.names), indent=2) if json else _text(found, best))


def _text(bandit: Bandit, best: Optimum) -> str:
    """Say the value, how sure it is, and what to play."""
    names = [
        " + ".join(bandit.names[arm] for arm in arms) or "silence" for arms in best.rounds[:_SHOWN]
    ]
    more = f", … ({len(best.rounds)} rounds)" if len(best.rounds) > _SHOWN else ""
    verb = "repeat" if best.repeats else "play"
    return f"{best}\n{verb}: {', '.join(names)}{more}"
