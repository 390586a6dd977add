"""What the public interface returned when it was last written down, it still returns.

A change that is meant is written down by ``python tests/golden/test_golden.py`` and explained
where it is committed.
"""

import json
from pathlib import Path

import pytest
from golden_cases import cases

GOLDEN = Path(__file__).with_name("golden.json")
CASES = cases()


def test_every_case_is_written_down_and_no_other():
    """The file holds the results of these cases, some 300 of them."""
    assert sorted(json.loads(GOLDEN.read_text())) == sorted(CASES)
    assert len(CASES) > 300


@pytest.mark.parametrize("part", sorted({name.split()[0] for name in CASES}))
def test_results_are_those_written_down(part):
    """Numbers agree to nine places, promises and plays to the letter."""
    golden = json.loads(GOLDEN.read_text())
    wrong = {}
    for name, make in CASES.items():
        if name.split()[0] == part:
            found, expected = make(), golden[name]
            if not same(found, expected):
                wrong[name] = (found, expected)
    assert not wrong


def test_a_wrong_number_would_be_noticed():
    """A difference in the eighth place counts, one in the tenth does not."""
    assert same({"value": 1.0, "optimal": True}, {"value": 1.0 + 1e-10, "optimal": True})
    assert not same({"value": 1.0}, {"value": 1.0 + 1e-7})
    assert not same({"value": 1.0, "optimal": True}, {"value": 1.0, "optimal": False})
    assert not same({"arms": "ab"}, {"arms": "ac"})


def same(found, expected):
    """Tell whether two results agree."""
    return {name: pytest.approx(value, abs=1e-9) if is_number(value) else value
            for name, value in expected.items()} == found  # fmt: skip


def is_number(value):
    """Tell what is compared up to rounding: numbers and lists of them."""
    if isinstance(value, list):
        return all(is_number(entry) for entry in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    written = {name: make() for name, make in CASES.items()}
    GOLDEN.write_text(json.dumps(written, indent=0, sort_keys=True) + "\n")
    print(f"{len(written)} results written to {GOLDEN.name}")
