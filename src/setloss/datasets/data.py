"""The names of `setloss.io.data`, until the last loader has moved."""

from setloss.io.data import DatasetError, Features, LabelSets, Tracks

__all__ = ["DatasetError", "Features", "LabelSets", "Tracks"]
