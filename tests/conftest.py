"""What holds for every test. The parts stand in `support/`, and each has tests of its own."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["pytester", "isolation", "hygiene", "x_display"]

# No deadline: a slow machine is not a wrong program. In CI the examples are the same every time.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
