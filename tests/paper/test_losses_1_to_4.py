"""The losses of Equations 33 to 36 and what Section 5.2 says of them.

As printed, with p = |y| elements and k mistakes: losses 1 and 2 are negative without any mistake (-p/3 and
-p/4), and with that constant taken away they are concave, hence submodular, although the text says that none
is; loss 4 increases although the text says that it does not. Loss 3 is consistent.

Our four cost curves have every property the text states, for any number of elements from 4 on. (On sets of one
or two they are submodular.)
"""

import numpy as np
import pytest

from setloss import SetFunction, decompose, is_increasing, is_submodular, is_supermodular, loss_named

ALPHA = {2: 2.0, 4: 0.5}
SIZES = [4, 5, 6, 7, 9, 10, 12, 31, 100]


def printed(number, p):
    """The printed loss for k = 0..p mistakes."""
    k = np.arange(p + 1.0)
    return {
        1: np.minimum.reduce([k, np.full(p + 1, p / 3), k - p / 3]),
        2: np.minimum.reduce([k, np.full(p + 1, p / 4), k - p / 4, np.full(p + 1, ALPHA[2])]),
        3: np.minimum(np.maximum(0, k - p / 3), p / 3),
        4: np.minimum(np.maximum(0, k - p / 3), ALPHA[4]),
    }[number]


# ---------------------------------------------------------------- as printed


@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize(("number", "share"), [(1, 3), (2, 4)])
def test_losses_1_and_2_reward_a_perfect_prediction_and_are_submodular_without_the_constant(number, share, p):
    loss = printed(number, p)
    assert loss[0] == pytest.approx(-p / share)
    assert is_submodular(SetFunction.symmetric(loss - loss[0]))


@pytest.mark.parametrize("p", SIZES)
def test_loss_4_is_increasing_and_loss_3_divided_by_p_is_our_curve(p):
    assert is_increasing(SetFunction.symmetric(printed(4, p)))
    np.testing.assert_allclose(printed(3, p) / p, loss_named("curve3").on_counts(p, 0).table, atol=1e-12)


# ---------------------------------------------------------------- our curves against the text


@pytest.fixture(params=SIZES)
def curves(request):
    return {k: loss_named(f"curve{k}").on_counts(request.param, 0) for k in (1, 2, 3, 4)}


def test_none_is_submodular_or_supermodular(curves):
    assert not any(is_submodular(loss) or is_supermodular(loss) for loss in curves.values())


def test_only_the_fourth_decreases_somewhere(curves):
    assert [bool(is_increasing(loss)) for loss in curves.values()] == [True, True, True, False]


def test_single_mistakes_cost_in_the_first_two_and_are_free_in_the_others(curves):
    assert [loss.at(1) > 0 for loss in curves.values()] == [True, True, False, False]


def test_the_parts(curves):
    """g is non-negative and increasing; f is so of loss 1, not increasing of 2, and negative of 3 and 4."""
    parts, small = {k: decompose(loss) for k, loss in curves.items()}, 1e-12
    for one in parts.values():
        assert min(one.supermodular.table.min(), np.diff(one.supermodular.table).min()) >= 0
    f = {k: one.submodular.table for k, one in parts.items()}
    assert min(f[1].min(), np.diff(f[1]).min(), f[2].min()) >= -small
    assert np.diff(f[2]).min() < -small
    for k in (3, 4):
        assert max(f[k].max(), np.diff(f[k]).max()) <= small
        assert f[k].min() < -small


def test_alpha_is_the_value_at_v(curves):
    assert curves[2].table[-1] == pytest.approx(ALPHA[2])
    assert curves[4].table[-1] == pytest.approx(ALPHA[4])


def test_on_two_elements_all_four_are_submodular():
    assert all(is_submodular(loss_named(f"curve{k}").on_counts(2, 0)) for k in (1, 2, 3, 4))
