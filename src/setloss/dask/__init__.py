"""The estimators of setloss on Dask arrays and DataFrames: on a cluster, or with Dask's threads in this process.

The data stay where they are: the weights W are sent to every partition, and sums come back. The duality gap is that
of all data together.
"""

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.dask needs Dask; install it with: pip install 'setloss[dask]'") from error

from setloss.dask.estimators import DaskSetClassifier
from setloss.dask.inputs import repartition_by_group
from setloss.dask.partition import PartitionError
from setloss.dask.scheduling import ClusterLostError

__all__ = ["ClusterLostError", "DaskSetClassifier", "PartitionError", "repartition_by_group"]
