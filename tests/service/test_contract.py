"""The service does what a plain model of its contract says."""

import itertools

import pytest
from contract_model import Contract
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test


def hold(make, examples):
    """Hold the service to the model on databases that ``make`` gives."""
    machine = type("Held", (Contract,), {"make_database": staticmethod(make)})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None)
    )


def test_on_sqlite(tmp_path):
    """Two workers, keys used again, lapses, late rewards and restarts."""
    count = itertools.count()
    hold(lambda: str(tmp_path / f"{next(count)}.sqlite"), examples=12)


@pytest.mark.service
def test_on_postgresql(postgres):
    """The same on PostgreSQL."""
    hold(postgres.url, examples=8)
