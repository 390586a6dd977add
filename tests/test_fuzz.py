"""Random problems against plain references: a few of every check; LASTSWITCH_FUZZ says how many."""

from __future__ import annotations

import os

import pytest

import fuzz

#: Seeds of each check: some seconds in all.
SEEDS = int(os.environ.get("LASTSWITCH_FUZZ", "60"))


@pytest.mark.parametrize("name", fuzz.checks())
def test_random_problems_keep_their_promises(name):
    """What the library says of a random problem holds by enumeration."""
    for seed in range(SEEDS):
        fuzz.run(name, seed)
