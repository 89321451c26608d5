"""Hypothesis profiles."""

import os

from hypothesis import HealthCheck, settings

_common = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", _common)
settings.register_profile("ci", _common, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
