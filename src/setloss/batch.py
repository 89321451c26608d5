"""Cuts of a whole data set in one call; the code is in `setloss.plans.batch`."""

from setloss.plans.batch import BatchCuts, BatchSurrogate, batch_surrogate

__all__ = ["BatchCuts", "BatchSurrogate", "batch_surrogate"]
