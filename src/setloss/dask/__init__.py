"""The estimators of setloss on Dask arrays and DataFrames: on a cluster, or partition by partition from disk.

The data stay where they are: the weights W are sent to every partition, and sums come back. The duality gap is that
of all data together.
"""

from typing import Any

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.dask needs Dask; install it with: pip install 'setloss[dask]'") from error

from setloss.dask.errors import ClusterLostError, PartitionError
from setloss.dask.estimators import DaskBagClassifier, DaskSetClassifier
from setloss.dask.partitioned_data import PartitionedData
from setloss.dask.readers import open_data
from setloss.dask.repartition import repartition_by_group
from setloss.deprecation import warn_of_old_name

BagClassifier = DaskBagClassifier
SetClassifier = DaskSetClassifier
"""Shorter names, for code that imports the module and not the classes."""

__all__ = [
    "BagClassifier",
    "ClusterLostError",
    "DaskBagClassifier",
    "DaskSetClassifier",
    "PartitionError",
    "PartitionedData",
    "SetClassifier",
    "open_data",
    "repartition_by_group",
]


def __getattr__(name: str) -> Any:
    """Names of version 0.1, which go on working until 0.3."""
    if name == "Collection":
        warn_of_old_name("setloss.dask.Collection", "PartitionedData")
        return PartitionedData
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
