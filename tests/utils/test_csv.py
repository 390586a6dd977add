"""CSV that opens as data, and lists that stay short."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch._utils.csv import csv_cell, csv_text
from lastswitch._utils.listing import first_dozen
from lastswitch.experiments.tables import Column, Table
from lastswitch.logs.outputs import table

#: How cells begin that Excel, LibreOffice and Sheets run.
FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")


texts = st.text(st.characters(exclude_categories=["Cs"]))
awkward = st.sampled_from(["+0", "-1", "'", "'+0", "''=", "=1", "1e5", "\t", "\r", '"', ",", "\n"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def plain(cell: str) -> str:
    """Take off the mark that keeps a cell from running."""
    return cell[1:] if re.match(r"'+[=+\-@\t\r\n＝＋－＠]", cell) else cell


@given(st.lists(texts | awkward | st.builds("".join, st.lists(awkward)), min_size=1, max_size=4))
def test_any_text_comes_back_and_none_runs(cells):
    """Whatever the text, no cell read back begins like a formula, and the text can be told."""
    text = csv_text(["", *cells], [])
    ((_, *read),) = csv.reader(io.StringIO(text, newline=""))
    assert not any(map(FORMULA.match, read))
    assert list(map(plain, read)) == cells


@given(st.lists(numbers, min_size=1, max_size=4))
def test_any_number_comes_back(cells):
    """Numbers are written as such, negative ones too."""
    ((_, *read),) = csv.reader(io.StringIO(csv_text(["", *cells], []), newline=""))
    assert [type(value)(cell) for value, cell in zip(cells, read, strict=True)] == cells


@pytest.mark.parametrize(
    "text", ["=1+1", "+a", "-a", "@SUM(A1)", "\t=1", "\r=1", "-1+1", "＝1", "+0", "-0.5"]
)
def test_what_begins_like_a_formula_is_kept_text(text):
    """The apostrophe is the spreadsheets' own way to say so."""
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-0.5, 3, -1e-05, "0", "jazz", "a=b", "", "- "[1:]])
def test_numbers_and_plain_text_stay_as_they_are(value):
    """A negative number is a number."""
    assert csv_cell(value) == value


def test_every_csv_we_write_keeps_names_from_running():
    """Tables of comparisons and the states of a fit."""
    rows = [["=HYPERLINK(1)", -1.5], ["@x", None]]
    text = Table([Column("policy"), Column("change")], rows).to_csv()
    assert text == "policy,change\n'=HYPERLINK(1),-1.5\n'@x,\n"
    bandit = ls.Bandit([([0.9], [0.1])] * 2, names=["=cmd|calc", "-dash"])
    states = table(ls.fit_curves(ls.logs.simulate(bandit, subjects=20, rounds=20, seed=0)))
    lines = list(csv.reader(io.StringIO(states)))
    assert {line[0] for line in lines} == {"arm", "'=cmd|calc", "'-dash"}
    begun = {cell for line in lines for cell in line if FORMULA.match(cell)}
    assert "-1" in begun
    assert all(float(cell) < 0 for cell in begun)  # numbers, and no text


def test_long_lists_end_after_a_dozen():
    """Twelve are listed in full; more are counted."""
    names = [f"song {k}" for k in range(1681)]
    assert first_dozen(names[:12]) == ", ".join(names[:12])
    assert first_dozen(names, "all in it").endswith("song 11 and 1,669 more (all in it)")
    bandit = ls.Bandit([ls.curves.constant(0.5)] * 1681, names=names)
    assert repr(bandit).count("\n") == 13
    assert repr(bandit).endswith("1,669 more (all in bandit.names and bandit.curves)")
    assert repr(ls.Bandit(bandit.curves[:12])).endswith("arm 11  Curve(rest=[0.5], streak=[0.5])")
    text = str(ls.plan_block(bandit, 2))
    assert re.search(r"not played: song .* and 1,66\d more \(", text)
    assert max(map(len, text.splitlines())) < 200
