"""Past one process: the estimators of setloss on Dask arrays and DataFrames, on a cluster or from disk.

Partitions stay where they are; W goes to them and sums come back. The gap is that of all data together.
"""

from setloss.dask.collection import Collection
from setloss.dask.errors import ClusterLostError, PartitionError
from setloss.dask.estimators import BagClassifier, SetClassifier
from setloss.dask.readers import open_data
from setloss.dask.repartition import repartition_by_group

__all__ = [
    "BagClassifier",
    "ClusterLostError",
    "Collection",
    "PartitionError",
    "SetClassifier",
    "open_data",
    "repartition_by_group",
]
