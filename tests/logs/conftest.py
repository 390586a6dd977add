"""Logs that several tests look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def habit():
    """Return a log of two arms that pay more the more they are repeated."""
    rng = np.random.default_rng(0)
    rows = []
    for who in range(150):
        run, last = 0, None
        for time in range(40):
            arm = int(rng.random() < 0.5)
            run = run + 1 if arm == last else 0
            last = arm
            rows.append((who, time, f"arm {arm}", float(rng.random() < min(0.2 + 0.2 * run, 0.9))))
    return pd.DataFrame(rows, columns=["subject", "time", "arm", "reward"])
