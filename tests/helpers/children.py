"""Python processes that see this package and these helpers."""

import os
import sys

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
