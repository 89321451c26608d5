"""``python -m setloss.cli``, the same as ``setloss``."""

from setloss.cli import main

main()
