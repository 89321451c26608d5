"""Train predictors for the set-level loss they are judged by."""

__version__ = "0.1.0"
