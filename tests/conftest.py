"""Hypothesis profiles, and the helpers of this folder (`real_data`, `reference`, `strategies`) on the import path."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

_common = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", _common)
settings.register_profile("ci", _common, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
