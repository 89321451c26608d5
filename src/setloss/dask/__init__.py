"""The estimators of setloss on Dask arrays and DataFrames: on a cluster, or with Dask's threads in this process.

The data stay where they are: the weights W are sent to every partition, and sums come back. The duality gap is that
of all data together.
"""

from typing import TYPE_CHECKING, Any

try:
    import dask as _dask  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.dask needs Dask; install it with: pip install 'setloss[dask]'") from error

from setloss.lazy import imported_name

if TYPE_CHECKING:
    from setloss.dask.estimators import DaskBagClassifier, DaskSetClassifier
    from setloss.dask.partition import PartitionError
    from setloss.dask.repartition import repartition_by_group
    from setloss.dask.scheduling import ClusterLostError

__all__ = ["ClusterLostError", "DaskBagClassifier", "DaskSetClassifier", "PartitionError", "repartition_by_group"]

_HOMES = {
    "ClusterLostError": ".scheduling",
    "DaskBagClassifier": ".estimators",
    "DaskSetClassifier": ".estimators",
    "PartitionError": ".partition",
    "repartition_by_group": ".repartition",
}
"""The module of every name: workers import their tasks, and no estimators."""


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for."""
    return imported_name(__name__, _HOMES, name)
