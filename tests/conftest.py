"""Settings every test shares."""

import contextlib
import io
import os

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")  # figures are drawn, never shown
# Machines are noisy, so no example has a deadline; a clean checkout always tries the same ones.
settings.register_profile("lastswitch", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("lastswitch")


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory):
    """Reproduce the paper, small, from the command line: the folder, and what was printed.

    Whoever asks for it belongs to the xdist group "reproduction", so that it is done once.
    """
    from lastswitch.cli import main

    folder, printed = tmp_path_factory.mktemp("results"), io.StringIO()
    asked = ["reproduce", "--quick", "--horizon", "132", "--jobs", "2", "--out", str(folder)]
    with contextlib.redirect_stdout(printed):
        assert main(asked) == 0
    return folder, printed.getvalue()
