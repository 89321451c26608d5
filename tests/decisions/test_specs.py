"""Losses as kernels read them: where they fall, in words, and what is refused."""

import numpy as np
import pytest

from decisions.judge import decide
from setloss.decisions.specs import descent, loss_spec
from setloss.losses import Dice, FBeta, Hamming, Jaccard, Tversky, from_counts, from_set_function, loss_named
from setloss.setfunctions.set_function import SetFunction


def test_what_fast_searches_are_for():
    specs = [loss_spec(loss, 5, 6) for loss in (Dice(), FBeta(3.0), Jaccard(), Tversky(1.0, 0.2), Tversky(0.4, 0.5))]
    assert [spec.linear_in_hits for spec in specs] == [True, True, False, False, False]
    assert [spec.linear_in_misses for spec in specs] == [False, False, True, True, False]
    assert not loss_spec(FBeta(0.0), 5, 6).linear_in_hits  # a false negative costs nothing
    np.testing.assert_allclose(loss_spec(Hamming(True, 3.0, 1.0), 5, 6).numbers, [0.6, 0.2])


def test_losses_that_never_fall_and_where_others_do():
    rising = [Dice(), Hamming(), loss_named("curve2"), from_counts(lambda fn, fp, m, n: fn**2 + fp)]
    assert not any(descent(loss, 6, 7) for loss in rising)
    late = from_counts(lambda fn, fp, m, n: np.minimum(fn, 3) - 0.5 * (fn == 4))
    assert descent(late, 4, 4) is None  # four false negatives need four positives
    assert "4 positives among 4 elements, 3 false negatives and 0 false positives cost 3, one more" in descent(
        late, 4, 5
    )


def test_refusals():
    with pytest.raises(ValueError, match=r"12 mistakes cost 0\.72.*comparing all sets, for up to 16"):
        decide(np.zeros((1, 17)), loss_named("curve4"))
    with pytest.raises(ValueError, match="with 0 positives among 17 elements, 0 false negatives and 1 false"):
        decide(np.zeros((1, 17)), from_counts(lambda fn, fp, m, n: (fp == 1) * 1.0))
    groups = from_set_function(SetFunction.from_table(np.add.outer(range(9), range(10))))
    with pytest.raises(ValueError, match="depends on which elements are wrong"):
        decide(np.zeros((1, 17)), groups)
    with pytest.raises(ValueError, match="the limit is"):
        decide(np.zeros((1, 260)), from_counts(lambda fn, fp, m, n: fn**2 + 0.5 * fp))
    with pytest.raises(ValueError, match="there is no loss"):
        decide(np.zeros((1, 2)), "f7")
