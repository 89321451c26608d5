"""What can go wrong beyond one process: a partition with bad data, and a cluster that is gone."""

from __future__ import annotations

from setloss.solvers.loop import OutOfReachError


class PartitionError(ValueError):
    """The data of a partition cannot be used; the message names it and says what to do."""


class ClusterLostError(OutOfReachError):
    """The scheduler, or every worker that could hold a partition, is gone; the message says how to go on."""
