"""Reading single values: text, numbers and words that stand for numbers, as expressions.

Nothing here asks an engine anything: each function turns a column into one of a known type, null
where a value cannot be read. What people write is only accepted where it has one meaning, or where
the caller says which meaning it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from lastswitch._utils.checks import is_number
from lastswitch._utils.extras import load_extra
from lastswitch._utils.spelling import spelled
from lastswitch.errors import InputTypeError, LogError

if TYPE_CHECKING:
    from ibis.expr.types import Column, NumericColumn, StringColumn

#: Engines read more than this (``1_0``, ``0x1f``): a number is what everyone takes for one.
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_TRUTHS = {"true": 1.0, "false": 0.0}


class NumberRules(NamedTuple):
    """How rewards are written: the decimal mark, and words that stand for numbers."""

    decimal: str = "."
    words: Mapping[str, float] = _TRUTHS


def number_rules(decimal: str, words: Mapping[str, float] | None) -> NumberRules:
    """Return how rewards are written, checked.

    Examples
    --------
    >>> number_rules(",", {"Yes": 1, "no": 0}).words["yes"]
    1.0
    """
    if decimal not in (".", ","):
        raise LogError(
            f"{spelled('decimal')} must be '.' or ',', got {decimal!r}.", parameter="decimal"
        )
    given = {} if words is None else words
    if not isinstance(given, Mapping) or not all(
        isinstance(word, str) and is_number(value) for word, value in given.items()
    ):
        raise InputTypeError(
            f"{spelled('reward_words')} must give a number for each word, such as "
            f"{{'yes': 1, 'no': 0}}, got {words!r}.",
            parameter="reward_words",
        )
    known = {word.strip().lower(): float(value) for word, value in given.items()}
    return NumberRules(decimal, _TRUTHS | known)


def read_text(column: Column) -> StringColumn:
    """Return the column as text, null where it is blank."""
    return column.cast("string").strip().nullif("")


def read_number(column: Column, rules: NumberRules | None = None) -> NumericColumn:
    """Return the column as finite numbers; ``true`` and ``false`` are 1 and 0."""
    rules = NumberRules() if rules is None else rules
    ibis = load_extra("ibis", "logs")
    kind = column.type()
    if kind.is_string():
        word = column.strip().lower()
        figures = word.replace(",", ".") if rules.decimal == "," else word
        number = ibis.ifelse(
            figures.re_search(NUMBER), figures.try_cast("float64"), ibis.null("float64")
        )
        value = ibis.cases(
            *((word == known, meant) for known, meant in rules.words.items()), else_=number
        )
    elif kind.is_boolean() or kind.is_numeric():
        value = column.cast("int8" if kind.is_boolean() else "float64").cast("float64")
    else:
        value = ibis.null("float64")
    return ibis.ifelse(value.isnan() | value.isinf(), ibis.null("float64"), value)
