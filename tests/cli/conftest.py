"""Tests of the commands on partitions need dask, and what reads Parquet and model files."""

from importlib.util import find_spec

NEEDED = ("distributed", "zarr", "pandas", "pyarrow", "skops")

collect_ignore = [] if all(map(find_spec, NEEDED)) else ["test_partitioned_data.py"]
