"""The likelihood that calibrations maximise, its gradient, and the widths of its priors."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.held_out import complete, held_out
from setloss.decisions.calibration import BagPotentials, LabelPotentials
from setloss.decisions.fitting import (
    BIAS_WIDTHS,
    COMMON_WIDTH,
    COUNT_WIDTHS,
    FAR,
    Widths,
    _Problem,
    calibrate,
    chosen_widths,
)


def data_in(layout, missing=False):
    """Sets in rows or in bags."""
    data = held_out(layout == "bags")
    return data if missing else replace(data, known=np.ones_like(data.known))


def family_of(data):
    return LabelPotentials(4) if data.bags is None else BagPotentials()


layouts = pytest.mark.parametrize("layout", ["rows", "bags"])
completeness = pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])


def test_labels_that_are_not_known_say_nothing():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(3000, 2))
    truth, known = generator.random(scores.shape) < 1 / (1 + np.exp(-scores)), generator.random(scores.shape) < 0.4
    whole = complete(scores, truth)
    plain = calibrate(whole, None, Widths())
    for stated in (truth & known, truth | ~known):
        part = calibrate(replace(whole, truth=stated, known=known), None, Widths())
        assert part.marginals(scores) == pytest.approx(plain.marginals(scores), abs=0.05)


def test_potentials_are_as_free_as_held_out_sets_ask_for():
    """Sets of two of six labels need free potentials; independent labels need none."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(400, 6))
    pairs = np.argsort(np.argsort(-(scores + generator.gumbel(size=scores.shape)), axis=1), axis=1) < 2
    alone = generator.random(scores.shape) < 1 / (1 + np.exp(1 - scores))
    found = [chosen_widths(complete(scores, truth), LabelPotentials(6)) for truth in (pairs, alone)]
    assert found[0].counts == max(COUNT_WIDTHS)
    assert found[1].counts == min(COUNT_WIDTHS)
    rare = generator.random(scores.shape) < 1 / (1 + np.exp(np.linspace(-3, 4, 6) - scores))
    assert chosen_widths(complete(scores, rare), None).bias == max(BIAS_WIDTHS)


def test_the_unit_of_the_scores_does_not_matter():
    data = data_in("rows")
    others = [replace(data, scores=unit * data.scores) for unit in (1.0, 1e-3, 40.0)]
    marginals = [calibrate(one, LabelPotentials(4), Widths()).marginals(one.scores) for one in others]
    np.testing.assert_allclose(marginals[1:], [marginals[0]] * 2, atol=1e-3)


@layouts
@completeness
@pytest.mark.parametrize("independent", [False, True], ids=["counts", "independent"])
def test_the_gradient_is_that_of_the_value(layout, missing, independent):
    data = data_in(layout, missing)
    problem = _Problem.of(data, None if independent else family_of(data), Widths())
    point = np.random.default_rng(1).normal(size=len(problem.coordinates(None)))
    _, gradient = problem(point)
    steps = 1e-5 * np.eye(len(point))
    slopes = [(problem(point + step)[0] - problem(point - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


@layouts
@completeness
def test_the_value_is_the_likelihood_but_for_the_prior(layout, missing):
    data = data_in(layout, missing)
    family = family_of(data)
    problem = _Problem.of(data, family, Widths())
    point = np.random.default_rng(1).normal(size=len(problem.coordinates(None)))
    found = problem.calibration(point)
    split = problem.coordinates(found)  # of all ways to write a bias as a common one and its own, the likeliest
    (change, common, *own), theta = problem.parameters(split)
    bias = common + np.array(own)
    spread = Widths().bias ** 2 * np.eye(len(bias)) + COMMON_WIDTH**2
    prior = change**2 + bias @ np.linalg.solve(spread, bias) + theta @ family.precision(Widths().counts) @ theta
    assert problem(split)[0] == pytest.approx(0.5 * prior - data.weights @ found.log_likelihoods(data))
    assert problem(split)[0] <= problem(point)[0]
    again = problem.calibration(split)
    np.testing.assert_allclose(again.bias, found.bias, atol=1e-9)
    assert again.scale == pytest.approx(found.scale)


@layouts
def test_no_step_from_the_calibration_is_likelier(layout):
    data = data_in(layout)
    family = family_of(data)
    found = calibrate(data, family, Widths())
    problem = _Problem.of(data, family, Widths())
    best, _ = problem(problem.coordinates(found))
    generator = np.random.default_rng(1)
    for size in (0.1, 0.3, 1.0):
        step = size * generator.normal(size=len(problem.coordinates(None)))
        assert problem(problem.coordinates(found) + step)[0] > best


def test_a_search_that_goes_too_far_comes_back():
    """Sets of none or all of 300 labels: at first steps potentials can rule out what the scores then say."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(60, 150))
    scores = np.hstack([scores, -scores])
    truth = np.repeat(generator.random((60, 1)) < 0.5, 300, axis=1)
    data = complete(scores, truth)
    problem = _Problem.of(data, LabelPotentials(300), Widths())
    far = np.zeros(len(problem.coordinates(None)))
    far[0], far[-301:] = 1e4, problem.root @ np.where(np.arange(301) % 300, 0.0, 1e6)
    value, gradient = problem(far)
    assert value == FAR
    assert not gradient.any()
    assert calibrate(data, LabelPotentials(300), Widths()).log_likelihoods(data).sum() > -2000
