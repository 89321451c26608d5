"""Names of earlier versions."""

import pytest

import setloss.dask


def test_the_name_of_version_0_1_works_and_says_the_new_one():
    with pytest.warns(DeprecationWarning, match="Collection is called PartitionedData now"):
        found = setloss.dask.Collection
    assert found is setloss.dask.PartitionedData
    with pytest.raises(AttributeError, match="no attribute 'Collections'"):
        _ = setloss.dask.Collections
