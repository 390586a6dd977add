"""``plan_cohort`` gives every subject the plan ``plan_block`` would, and adds them up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lastswitch as ls
from cohorts.edge_cases import JUNE, RADIO, calendars, random_events, random_states
from lastswitch import rules as r
from lastswitch.cohorts.figures import draw_plays, draw_summary
from lastswitch.cohorts.rows import pays_of
from lastswitch.errors import (
    BudgetError,
    CohortError,
    InputTypeError,
    LastSwitchError,
)
from lastswitch.model.packed import pack
from lastswitch.model.states import moved
from lastswitch.planning.ruled_problem import RuledProblem

STATES = random_states(40)


def test_every_subject_has_the_plan_of_its_own():
    """Values are those of ``plan_block`` from each state; pays add up to them."""
    plan = ls.plan_cohort(RADIO, STATES, 5, calendar=JUNE)
    frame = plan.to_frame()
    for row in STATES.itertuples():
        own = frame[frame.subject == row.subject]
        single = ls.plan_block(RADIO, 5, start=[row.jazz, row.talk, row.news])
        assert own.value.iloc[0] == pytest.approx(single.value)
        assert own.pay.sum() == pytest.approx(single.value)
        assert (own.bound >= own.value).all()
        assert own.date.astype(str).tolist() == [f"2024-06-0{day}" for day in range(3, 8)]
    assert plan.optimal
    assert plan.value == pytest.approx(frame.groupby("subject").value.first().sum())
    assert plan.per_subject == pytest.approx(plan.value / 40)


def test_rules_that_look_back_keep_to_the_log():
    """With rules, silence and several plays, each plan is as good as ``plan_block`` after it."""
    events = random_events(12, 150)
    rules = [r.apart("jazz", 3), r.at_most("everyone", 4, within=4), r.never("talk", when="tue")]
    plays, lookback = (0, 2), 3
    plan = ls.plan_cohort(
        RADIO, ls.logs.EventLog(events), 4, rules=rules, plays=plays, silence=0.05, calendar=JUNE
    )
    log = ls.logs.EventLog(events, every="1d", at=JUNE.start)
    states, recent = log.states().to_pandas(), log.recent(lookback).to_pandas()
    resolved = JUNE.resolve(rules, 4, RADIO)
    for subject, rounds in calendars(plan).items():
        start = [1, 1, 1]
        for row in states[states.subject == subject].itertuples():
            start[RADIO.index(row.arm)] = row.tau
        own = recent[recent.subject == subject]
        history = [own.arm[own["round"] == -k].tolist() for k in range(lookback, 0, -1)]
        problem = RuledProblem.from_bandit(
            RADIO, 4, start=start, history=history, rules=resolved, plays=plays, silence=0.05
        )
        value = problem.value([tuple(map(RADIO.index, arms)) for arms in rounds])
        single = ls.plan_block(
            RADIO, 4, start=start, history=history, rules=resolved, plays=plays, silence=0.05
        )
        assert value == pytest.approx(single.value)
    frame = plan.to_frame()
    assert frame.pay.sum() == pytest.approx(plan.value)


def test_pays_are_those_of_a_walk():
    """Vectors of pays equal a walk through states, one play at a time, empty places included."""
    rng = np.random.default_rng(0)
    curves = (ls.Curve([0.2, 0.5, 0.9], [0.3, 0.1]), ls.Curve([0.1, 0.7], [0.0], tail="repeat"))
    tau = rng.choice([-4, -1, 1, 2, 3, 7], (30, 2))
    arms = np.stack([rng.permuted([0, 1, -1, -1])[:2] for _ in range(180)]).reshape(30, 6, 2)
    found = pays_of(pack(curves), tau, arms)
    for n in range(30):
        state = tau[n].tolist()
        for t in range(6):
            for place in range(2):
                arm = int(arms[n, t, place])
                expected = curves[arm](state[arm]) if arm >= 0 else 0.0
                assert found[n, t, place] == expected
            state = [moved(s, bool((arms[n, t] == arm).any())) for arm, s in enumerate(state)]


def test_budgets_are_kept_and_priced():
    """Words become budgets; the plans keep them, and one more play is worth something."""
    plan = ls.plan_cohort(
        RADIO, STATES, 4, plays=(0, 1), calendar=JUNE, budget=["everyone: 25 per round on mon-tue"]
    )
    assert plan.plays.sum(axis=1).tolist() == [25, 25, 40, 40]
    assert [(row.round, row.most, row.used) for row in plan.budgets] == [(0, 25, 25), (1, 25, 25)]
    assert all(row.price > 0 for row in plan.budgets)
    assert plan.value <= plan.bound
    silent = plan.to_frame()
    assert silent.arm.isna().sum() == 30
    assert set(silent.groupby("subject")["round"].nunique()) == {4}


def test_weights_say_whose_value_counts():
    """With room for one, the heavier subject plays."""
    two = pd.DataFrame({"subject": ["ann", "bob"], "jazz": 5, "talk": 5, "news": 9})
    bandit = ls.Bandit(RADIO.curves, names=RADIO.names, plays=(0, 1))
    for heavy in ("ann", "bob"):
        weighed = two.assign(weight=np.where(two.subject == heavy, 10.0, 1.0))
        plan = ls.plan_cohort(bandit, weighed, 1, budget=ls.Budget("everyone", 1))
        assert [name for name, rounds in calendars(plan).items() if rounds[0]] == [heavy]
        assert plan.value == pytest.approx(9.0)
        assert plan.per_subject == pytest.approx(9.0 / 11)


def test_other_ways_to_play_are_compared():
    """Round-robin and always-best are what blocks of them pay; the habit is a mean."""
    plan = ls.plan_cohort(RADIO, STATES, 4, habit=0.25)
    starts = STATES[list(RADIO.names)].to_numpy()
    pay = {arm: sum(ls.block_reward(RADIO, [arm] * 4, start=s) for s in starts) for arm in range(3)}
    turn = sum(ls.block_reward(RADIO, [0, 1, 2, 0], start=s) for s in starts)
    best = max(pay, key=pay.get)
    assert plan.others["round-robin"] == pytest.approx(turn)
    assert plan.others[f"always {RADIO.names[best]}"] == pytest.approx(pay[best])
    assert plan.others["the log's habit"] == pytest.approx(0.25 * 4 * 40)


def test_it_says_itself_in_a_few_lines():
    """Value, quality, others and budgets; nothing of other ways where there is no habit."""
    plan = ls.plan_cohort(RADIO, STATES, 3, plays=(0, 1), budget="jazz: 10 in all")
    lines = str(plan).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("40 subjects, 3 rounds: worth ")
    assert "round-robin would give" in lines[1]
    assert lines[2].startswith("jazz: at most 10 plays in all: 10 of 10 used; one more is worth")
    assert "habit" not in str(plan)


BAD = {
    "length": (lambda: ls.plan_cohort(RADIO, STATES, 0), LastSwitchError, "length"),
    "backend": (
        lambda: ls.plan_cohort(RADIO, STATES, 2, backend="sparc"),
        CohortError,
        "did you mean 'spark'",
    ),
    "budget": (
        lambda: ls.plan_cohort(RADIO, STATES, 2, budget="loads of jazz"),
        BudgetError,
        "everyone: 1000 per round",
    ),
    "dates": (
        lambda: ls.plan_cohort(RADIO, STATES, 2, budget="jazz: 3 on sun"),
        BudgetError,
        "speaks of dates",
    ),
    "unknown arm": (
        lambda: ls.plan_cohort(RADIO, STATES, 2, budget="jaz: 3"),
        BudgetError,
        "did you mean 'jazz'",
    ),
    "calendar": (
        lambda: ls.plan_cohort(RADIO, STATES, 2, calendar="2024-06-03"),
        InputTypeError,
        "calendar must be",
    ),
    "habit": (lambda: ls.plan_cohort(RADIO, STATES, 2, habit="0.3"), InputTypeError, "habit"),
    "nobody": (lambda: ls.plan_cohort(RADIO, STATES[:0], 2), CohortError, "nobody to plan"),
}


@pytest.mark.parametrize(("call", "error", "words"), BAD.values(), ids=BAD)
def test_bad_calls_are_refused_by_name(call, error, words):
    """What was wrong, what was given, what to do."""
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("budget", ["jazz: 39", "everyone: 79 in all"])
def test_a_budget_below_what_pins_force_is_refused_before_anything_is_written(tmp_path, budget):
    """Everyone must play jazz in round 0 and something in round 1: 39 and 79 are too few."""
    asked = {"rules": [r.pinned("jazz", 0)], "out": tmp_path / "plans.parquet"}
    with pytest.raises(BudgetError, match="cannot be kept: rules and plays force at least"):
        ls.plan_cohort(RADIO, STATES, 2, budget=budget, **asked)
    assert list(tmp_path.iterdir()) == []
    ls.plan_cohort(RADIO, STATES, 2, budget="jazz: 40", **asked)
    assert [file.name for file in tmp_path.iterdir()] == ["plans.parquet"]


def test_figures_name_arms_safely_and_page_needs_nothing_else(tmp_path):
    """A dollar is a dollar and a tag is text; the page fetches nothing; bars have dates."""
    names = ["$5 off", "<script>alert(1)</script>", "日本"]
    bandit = ls.Bandit(RADIO.curves, names=names, plays=(0, 1))
    states = STATES.rename(columns=dict(zip(RADIO.names, names, strict=True)))
    plan = ls.plan_cohort(bandit, states, 3, calendar=JUNE, budget="everyone: 20", habit=0.2)
    axes = draw_plays(plan)
    assert "\\$5 off" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert axes.get_xticklabels()[0].get_text() == "Mon\n3 Jun"
    assert len(draw_summary(plan).axes) == 3
    text = plan.page(tmp_path / "page.html", title="<b>night").read_text()
    assert "<script" not in text
    assert "<b>night" not in text
    assert "http" not in text.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "").replace("https://matplotlib.org", "")
    for words in ("round-robin", "the log&#39;s habit", "Monday 2024-06-03", "at most"):
        assert words in text


def test_many_arms_share_a_colour():
    """Beyond the colours there are, the arms played least are drawn together."""
    many = ls.Bandit([ls.curves.constant(0.1 + 0.01 * k) for k in range(20)])
    states = pd.DataFrame({"subject": ["ann"], **{name: [1] for name in many.names}})
    texts = draw_plays(ls.plan_cohort(many, states, 3)).get_legend().get_texts()
    assert texts[0].get_text() == "13 other arms"
