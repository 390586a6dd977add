"""Figures say what the bandit says: values, sides, names, arrows."""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import lastswitch as ls
from lastswitch import Bandit, Curve
from lastswitch._utils.drawing import _characters, check_figure_path, legible, save_figure
from lastswitch.errors import FileError, InputTypeError
from lastswitch.logs.figures import draw_arm
from lastswitch.model.curves import constant, periodic
from lastswitch.model.figures import draw_bandit, draw_curves, draw_transitions
from lastswitch.model.instances import five_arms, random_bandit, two_arms
from lastswitch.paper import figure_1
from strategies import bandits


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no figure open behind a test."""
    yield
    plt.close("all")


def points(axes):
    """Return every marked point of the axes, as {(state, value)}."""
    marked = [line for line in axes.lines if line.get_marker() not in ("None", "", " ")]
    return {(int(x), float(y)) for line in marked for x, y in zip(*line.get_data(), strict=True)}


def legend(axes):
    """Return the names in the legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


@hypothesis_settings(max_examples=10)
@given(bandit=bandits())
def test_every_marked_point_is_a_value_of_a_curve_and_every_state_that_differs_is_marked(bandit):
    """Points are exactly the bandit's values, on the side of their state."""
    axes = draw_curves(bandit, Figure().subplots())
    drawn = points(axes)
    assert all(any(curve(tau) == value for curve in bandit.curves) for tau, value in drawn)
    for curve in bandit.curves:
        support = curve.support()
        taus = [*range(-support.streak, 0), *range(1, support.rest + 1)]
        assert {(tau, curve(tau)) for tau in taus} <= drawn


def test_rest_is_drawn_right_of_zero_and_streak_left():
    """The paper's orientation."""
    axes = draw_curves(Bandit([Curve([0.2, 0.9], [0.1, 0.0])]))
    assert points(axes) == {(1, 0.2), (2, 0.9), (-1, 0.1), (-2, 0.0)}


def test_a_season_is_drawn_twice():
    """Two periods show that it repeats."""
    axes = draw_curves(Bandit([periodic([0.1, 0.5, 0.9], streak=0.0)]))
    assert {(1, 0.1), (2, 0.5), (3, 0.9), (4, 0.1), (5, 0.5), (6, 0.9)} <= points(axes)


def test_arms_with_equal_curves_share_a_line_and_a_name():
    """Three constant arms of one value are one line."""
    assert legend(draw_curves(five_arms())) == ["arm 0", "arm 1", "arm 2, arm 3, arm 4"]


def test_many_alike_are_counted_not_listed():
    """A long list of names would not fit."""
    assert legend(draw_curves(Bandit([constant(0.5)] * 30))) == ["arm 0 and 29 alike"]


def test_long_names_leave_room_for_the_curves(tmp_path):
    """The legend takes fewer columns, and a very long name is cut."""
    curves = random_bandit("uniform", 4, 3, 0).curves
    figure = draw_bandit(Bandit(curves, names=[f"{'long name ' * 8}{arm}" for arm in range(4)]))
    save_figure(figure, tmp_path / "long", ["png"])
    assert figure.axes[0].get_position().width > 0.8
    assert all(len(name) <= 40 for name in legend(figure.axes[0]))


def test_a_legend_of_many_curves_is_summed_up():
    """Ten names, then a count."""
    names = legend(draw_curves(random_bandit("uniform", 14, 3, 0)))
    assert names[:2] == ["arm 0", "arm 1"]
    assert names[-1] == "and 4 more"
    assert len(names) == 11


def test_drawing_into_given_axes_uses_them():
    """The axes come back, so that calls can be chained."""
    axes = Figure().subplots()
    assert two_arms().plot(axes) is axes
    assert axes.lines


def test_plot_without_axes_makes_its_own():
    """In a notebook nothing needs to be prepared."""
    assert two_arms().plot().figure in map(plt.figure, plt.get_fignums())


def test_a_very_deep_curve_is_cut_at_the_edge():
    """A thousand states do not make a thousand columns."""
    axes = draw_curves(Bandit([Curve(np.linspace(0, 1, 1000), [0.0])]))
    assert axes.get_xlim()[1] < 100


@pytest.mark.parametrize(("streaks", "states", "moves"), [(True, 6, 12), (False, 4, 8)])
def test_the_diagram_has_two_moves_out_of_every_state(streaks, states, moves):
    """Reduced to 6 and 4 states as in the paper; each state can be played or not."""
    axes = draw_transitions(streaks=streaks)
    assert len([text for text in axes.texts if "played" not in text.get_text()]) == states
    assert sum(isinstance(patch, FancyArrowPatch) for patch in axes.patches) == moves


def test_the_diagram_of_a_bandit_shows_streaks_only_if_they_matter():
    """A bandit stated in delays gets the delay model's diagram."""
    flat, worn = draw_bandit(two_arms()), draw_bandit(random_bandit("satiating", 2, 3, 0))
    assert "≤−3" not in [text.get_text() for text in flat.axes[1].texts]
    assert "≤−3" in [text.get_text() for text in worn.axes[1].texts]


@pytest.mark.parametrize("format_", ["png", "svg", "pdf"])
def test_the_same_bandit_gives_the_same_bytes(tmp_path, format_):
    """Drawing twice gives the same file, in every format."""
    one, two = (
        save_figure(draw_curves(two_arms()).figure, tmp_path / name, [format_])[0].read_bytes()
        for name in "ab"
    )
    assert len(one) > 1000
    assert one == two


def test_drawing_leaves_the_caller_s_settings_alone():
    """The house style ends with the figure."""
    before = dict(plt.rcParams)
    draw_bandit(five_arms())
    assert dict(plt.rcParams) == before


def test_a_figure_that_cannot_be_written_is_refused(tmp_path):
    """An unknown format and a missing folder are both named."""
    with pytest.raises(FileError, match=r"must end in \.png, \.svg or \.pdf, got 'a\.gif'"):
        check_figure_path("a.gif")
    with pytest.raises(FileError, match=r"the folder .*missing does not exist"):
        check_figure_path(tmp_path / "missing" / "a.png")


#: Names that Matplotlib reads as formulas, cannot draw, or leaves out of a legend.
ODD = [
    "$5 off $10",
    "$x_",
    "a\\$b$",
    "音楽",
    "한국어",
    "ひらがな 🚀",
    "_hidden",
    "",
    "a\nb\0c",
    "x" * 99,
]


def named(names):
    """Return a bandit with arms of these names, all different."""
    return Bandit([constant(0.1 * k) for k in range(len(names))], names=names)


def every_figure():
    """Return each noun's figures of arms or policies with odd names."""
    bandit, log_names = named(ODD), [name for name in ODD if name]
    fit = ls.fit_curves(ls.logs.simulate(named(log_names), subjects=5, rounds=30, seed=0))
    cycle = {name: lambda: ls.FixedCycle([0, 1], initial=-1) for name in ODD}
    found = ls.compare(two_arms(), cycle, 20, 1, n_jobs=1, progress=False)
    drawn = [ls.plan_block(bandit, 12).plot(), found.plot()]
    drawn += [draw_arm(fit, arm) for arm in range(len(fit.arms))]
    figures = [f if isinstance(f, Figure) else f.get_figure(root=True) for f in drawn]
    return [draw_bandit(bandit), *figures]


def test_every_name_can_be_drawn_without_a_warning(tmp_path, caplog):
    """No formula, no box for a missing letter, no word about fonts and paths."""
    for figure in every_figure():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            save_figure(figure, tmp_path / "drawn", ["png"])
    save_figure(draw_bandit(named(ODD)), tmp_path / "drawn", ["svg", "pdf"])
    assert not caplog.records


def test_a_formula_that_is_not_escaped_is_what_breaks(tmp_path):
    """The control: the same name straight into Matplotlib cannot be drawn."""
    figure = Figure()
    figure.subplots().set_title("$5_^ off $")
    with pytest.raises(ValueError, match="Parse"):
        save_figure(figure, tmp_path / "broken", ["png"])
    figure = Figure()
    figure.subplots().set_title(legible("$5_^ off $"))
    save_figure(figure, tmp_path / "fine", ["png"])


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30), limit=st.integers(2, 40)
)
def test_legible_text_fits_and_holds_only_what_fonts_have(text, limit):
    """Whatever the name, and plain names stay as they are."""
    drawn = legible(text, limit).replace(r"\$", "$")
    assert len(drawn) <= limit
    assert {ord(char) for char in drawn} <= _characters() | {ord("…")}
    assert "$" not in legible(text).replace(r"\$", "")
    if text.isascii() and text.isprintable():
        assert legible(text).replace(r"\$", "$") == text


def test_legends_name_every_curve_even_those_called_like_hidden_ones():
    """An underscore does not make an arm disappear."""
    assert len(legend(draw_curves(Bandit([constant(0.1), constant(0.2)], names=["_a", ""])))) == 2


def test_figures_are_drawn_into_what_the_caller_gives():
    """Axes and figures come back as they were given; anything else is refused."""
    figure = Figure()
    assert draw_bandit(two_arms(), figure) is figure
    assert figure_1(figure=Figure()).axes
    ax = Figure().subplots()
    assert two_arms().plot(ax) is ax
    assert draw_transitions(ax) is ax
    with pytest.raises(InputTypeError, match="ax must be Matplotlib axes"):
        two_arms().plot(figure)
    with pytest.raises(InputTypeError, match="figure must be a Matplotlib figure"):
        draw_bandit(two_arms(), ax)
