"""The reference operators of the library, each made once: making one decomposes a set function."""

from functools import cache

import numpy as np

from setloss.operators import operator_named


def reference_operator(loss, operator, truth, scale=2.0):
    """The surrogate of the bag with these labels."""
    return _made_once(loss, operator, np.asarray(truth, dtype=bool).tobytes(), scale)


@cache
def _made_once(loss, operator, labels, scale):
    return operator_named(operator, scale)(loss.set_function(np.frombuffer(labels, dtype=bool)))
