"""``python -m setloss``, the same as ``setloss``."""

from setloss.cli import main

if __name__ == "__main__":
    main()
