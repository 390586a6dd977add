"""Settings every test shares."""

import os

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")  # figures are drawn, never shown
# Machines are noisy, so no example has a deadline; a clean checkout always tries the same ones.
settings.register_profile("lastswitch", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("lastswitch")
