"""What is warmed up is there for whoever comes next."""

from __future__ import annotations

from pathlib import Path

from test_kernel_cache import run
from typer.testing import CliRunner

from lastswitch.cli import app

WARM_UP = "from lastswitch.cli import main; raise SystemExit(main(['warm-up']))"
#: First calls, on other problems than those warmed up with.
FIRST_CALLS = """
import lastswitch as ls
from lastswitch import rules
from lastswitch.model.families import random_bandit
from lastswitch.learning import RuledRotationUCB, ThompsonSampling

for seed in range(3):
    for family in ("uniform", "step", "spike"):
        bandit = random_bandit(family, 7, 15, seed=seed)
        ls.plan_block(bandit, 25, time_limit=1.0)
        ls.plan_cycle(bandit, 9, time_limit=1.0)
    ls.optimal_average(random_bandit("spike", 4, 5, seed=seed))
    ls.optimal_total(random_bandit("spike", 4, 5, seed=seed), 30)
some = [rules.rest(0, 2), rules.at_most(1, plays=2, within=7)]
ruled = ls.Bandit(bandit.curves, rules=some, plays=(0, 1))
ls.plan_block(ruled, 10, time_limit=1.0)
for policy in (ls.RotationUCB(6), RuledRotationUCB(6, rules=some), ThompsonSampling(6)):
    for turn in range(60):
        policy.tell(policy.ask().id, turn % 2)
"""


def compiled(cache: Path) -> dict[Path, int]:
    """Return when each kernel was kept."""
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}


def test_after_warming_up_nothing_is_compiled(tmp_path: Path) -> None:
    """Neither by a second time nor by first plans and first asks, in processes of their own."""
    printed, lines = run(WARM_UP, tmp_path)
    assert not lines
    assert printed.endswith(f"MB, in {tmp_path}")
    first = compiled(tmp_path)
    assert f"{sum(path.suffix == '.nbc' for path in first)} kernels" in printed
    for code in (FIRST_CALLS, WARM_UP):
        assert not run(code, tmp_path)[1]
        assert compiled(tmp_path) == first


def test_where_nothing_can_be_kept_the_command_says_so(tmp_path: Path) -> None:
    """And ends with an exit code that a build notices."""
    taken = tmp_path / "taken"
    taken.write_text("")
    ended = CliRunner().invoke(app, ["warm-up"], env={"LASTSWITCH_CACHE_DIR": str(taken)})
    assert ended.exit_code == 1
    assert f"Nothing could be kept in {taken}" in ended.stdout
