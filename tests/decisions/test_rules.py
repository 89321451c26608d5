"""Rules learned from held-out scores: which one "auto" takes, and how far expected losses are from observed ones."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from helpers.held_out import complete
from setloss.bags import Bags
from setloss.decisions.calibration import LONGEST, BagPotentials, Calibration, LabelPotentials
from setloss.decisions.count_model import CountModel
from setloss.decisions.held_out import HeldOut
from setloss.decisions.rules import MOST_SETS, RULES, Judged, RuleLearner, standard_error
from setloss.losses import Dice


def exactly(k, n=300, p=8):
    """Label sets of exactly k labels, scores with an offset of their own for every example: only counts help."""
    generator = np.random.default_rng(0)
    truth = generator.random((n, p)).argsort(axis=1) < k
    return complete(
        np.where(truth, 2.0, -2.0) + generator.normal(size=(n, p)) + 4 * generator.normal(size=(n, 1)), truth
    )


def half_of_them_shifted(n=300, p=8):
    """Scores that a count model reads wrongly: log-odds squeezed where they are large, and heavy tails."""
    generator = np.random.default_rng(0)
    log_odds = generator.normal(-1, 2, size=(n, p))
    truth = generator.random((n, p)) < expit(3 * (log_odds > 0) - 1.5)
    return complete(np.sign(log_odds) * np.abs(log_odds) ** 5, truth)


@pytest.mark.parametrize(
    ("data", "taken", "left", "margin"),
    [(exactly(3), "counts", "threshold", 0.05), (half_of_them_shifted(), "threshold", "counts", 0)],
)
def test_auto_takes_the_rule_of_less_held_out_loss(data, taken, left, margin):
    """Counts where sizes are known; where the count model fits badly it loses against a plain threshold."""
    learner = RuleLearner.of(data)
    judged = learner.judged("auto", Dice())
    assert learner.choose(judged) == taken
    assert judged[taken].summary(data.weights)[0] < judged[left].summary(data.weights)[0] - margin


def test_auto_weighs_sets():
    """Two populations: the one that has all the weight decides which rule is taken."""
    scores, truth = np.zeros((600, 2)), np.arange(1200).reshape(600, 2) % 3 == 0
    learner = RuleLearner.of(complete(scores, truth))
    losses = {"counts": np.arange(600) >= 300, "threshold": np.arange(600) < 300}
    judged = {name: Judged(None, [], each) for name, each in losses.items()}
    for heavy, name in ((slice(0, 300), "counts"), (slice(300, 600), "threshold")):
        weights = np.ones(600)
        weights[heavy] = 5
        assert RuleLearner(complete(scores, truth, weights), learner.family).choose(judged) == name


def test_rules_are_judged_on_sets_they_have_not_learned_on():
    """Few sets, scores that say nothing: a threshold learned on all of them looks better than it is."""
    generator = np.random.default_rng(4)
    data = complete(generator.normal(size=(30, 3)), generator.random((30, 3)) < 0.5)
    found = RuleLearner.of(data).judged("threshold", Dice())["threshold"].losses
    for fold in range(5):
        others, here = data.folds != fold, data.folds == fold
        cuts = np.concatenate([[-9.0], np.sort(np.ravel(data.scores[others]))])
        losses = [np.mean(Dice()(data.truth[others], data.scores[others] > cut)) for cut in cuts]
        best = np.flatnonzero(np.array(losses) <= min(losses) + 1e-12)
        possible = [Dice()(data.truth[here], data.scores[here] > cuts[i]) for i in best]
        between = np.stack(possible).min(axis=0) - 1e-9, np.stack(possible).max(axis=0) + 1e-9
        inside = (between[0] <= found[here]) & (found[here] <= between[1])
        assert inside.mean() > 0.6  # a score between two of the others may be on either side of the cut


def test_models_without_a_fold_do_not_know_its_sets():
    """Three labels a set, in one fold five: only the model without this fold expects three."""
    data, other = exactly(3), exactly(5)
    odd = data.folds == 0
    mixed = complete(
        np.where(odd[:, None], other.scores, data.scores), np.where(odd[:, None], other.truth, data.truth)
    )
    expected = [one.marginals(data.scores).sum(axis=1).mean() for one in RuleLearner.of(mixed).models[1:]]
    assert expected[0] == pytest.approx(3, abs=0.05)
    assert min(expected[1:]) > 3.2


def test_expected_losses_are_those_of_what_the_rule_decides():
    learner = RuleLearner.of(exactly(3))
    for name in RULES[1:]:
        found = learner.reliability(learner.judged(name, Dice())[name], Dice())
        assert found.bias == pytest.approx(0, abs=0.1)  # of independent labels .3


def test_what_rules_lose_is_the_weighted_mean_on_the_folds():
    data = exactly(3)
    data = complete(data.scores, data.truth, np.linspace(0.5, 2, 300))
    learner = RuleLearner.of(data)
    losses = {name: learner.judged(name, Dice())[name].losses for name in RULES[1:]}
    means = {name: np.average(values, weights=data.weights) for name, values in losses.items()}
    found = {rule: learner.decided_loss(rule, Dice(), "samples") for rule in RULES}
    assert found == pytest.approx(means | {"auto": min(means["counts"], means["threshold"])})
    assert len(set(found.values())) == 4


def test_learners_study_as_many_sets_as_they_can():
    generator = np.random.default_rng(0)
    many = complete(generator.normal(size=(MOST_SETS + 9, 1)), generator.random((MOST_SETS + 9, 1)) < 0.5)
    assert len(RuleLearner.of(many).data) == MOST_SETS
    large = complete(generator.normal(size=(5, 2000)), generator.random((5, 2000)) < 0.05)
    assert RuleLearner.of(large).candidates == ("plug-in", "threshold")
    scores, bags = generator.normal(size=3000), Bags.from_offsets([0, 1500, 3000])
    frames = HeldOut(scores, scores > 0, np.ones(3000, bool), np.ones(2), np.arange(2), bags)
    assert RuleLearner.of(frames).candidates == ("counts", "threshold")  # long bags are thinned


def test_weights_are_copies_to_the_likelihood():
    data = exactly(3, n=60)
    twice = np.repeat(np.arange(60), 2)
    copies = RuleLearner.of(complete(data.scores[twice], data.truth[twice])).log_likelihoods()
    weighted = RuleLearner.of(complete(data.scores, data.truth, np.full(60, 2.0))).log_likelihoods()
    assert np.dot(*weighted) == pytest.approx(np.dot(*copies), rel=1e-5)


def test_the_empty_set_stands_apart_in_the_prior():
    """A jump at no positives costs at most a tenth of a kink of the same size elsewhere; lines have one slope."""
    prior = LabelPotentials(20).precision(1.0)
    jump, kink, early = np.eye(21)[0], np.abs(np.arange(21.0) - 10) / 2, np.maximum(np.arange(21.0) - 2, 0)
    assert jump @ prior @ jump < 0.1 * (kink @ prior @ kink)
    assert early @ prior @ early > 0.8 * (kink @ prior @ kink)
    slopes = [np.arange(k + 1.0) @ (LabelPotentials(k).precision(1.0) @ np.arange(k + 1.0)) for k in (5, 20)]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.05)


def test_reliability_is_observed_minus_expected():
    data = exactly(3, n=40)
    data = complete(data.scores, data.truth, np.repeat([1.0, 1, 1, 3], 10))
    learner = RuleLearner.of(data)
    judged, expected = learner.judged("half", Dice())["half"], np.empty(40)
    for fold, model in enumerate(learner.models[1:]):
        here = data.folds == fold
        expected[here] = model.expected_losses(data.scores[here] > 0, data.scores[here], Dice())
    found, differences = learner.reliability(judged, Dice()), judged.losses - expected
    copies = np.repeat(differences, data.weights.astype(int))
    assert found.bias == pytest.approx(copies.mean())
    assert found.spread == pytest.approx(copies.std())
    assert found.error == pytest.approx(standard_error(differences, data.weights))
    widths = found.half_width(10, 0.9), found.half_width(10**9, 0.9)
    errors = np.hypot(found.error, found.spread / np.sqrt(10)), found.error
    assert widths == pytest.approx(stats.t(df=4).ppf(0.95) * np.array(errors))  # five folds


def test_standard_error_of_equal_weights_is_the_usual_one():
    values = np.random.default_rng(0).normal(size=50)
    assert standard_error(values, np.full(50, 2.0)) == pytest.approx(values.std() / np.sqrt(50))


def test_the_prior_leaves_the_same_freedom_over_the_spread_of_the_counts():
    """Potentials that are stretched over a wider range of counts are as likely: curvature falls with the range."""
    narrow, wide = LabelPotentials(40, 2.0), LabelPotentials(40, 8.0)
    k = np.arange(41.0)
    curves = []
    for s in (2, 8):
        steps = np.abs(k - 20) / s
        curves.append(np.where(steps < 4, steps**2, 8 * steps - 16))  # parabolas with straight ends
    costs = [c @ (f.precision(1.0) - 1e-6 * np.eye(41)) @ c for f, c in zip((narrow, wide), curves, strict=True)]
    assert costs[1] == pytest.approx(costs[0], rel=0.5)


@pytest.mark.parametrize("size", [LONGEST - 1, LONGEST + 1, 3 * LONGEST])
def test_marginals_of_long_bags_are_those_of_the_count_model(size):
    """Beyond `LONGEST` frames the model sees some of them; the marginals of all frames must still follow."""
    generator = np.random.default_rng(size)
    scores, bags = generator.normal(size=size), Bags.from_offsets([0, size])
    theta = np.array([3.0, 3.0, 1.0, 0.0, 2.0])  # the last one moves every log-odds by 2 (1 - 2 r)
    calibration = Calibration(0.8, np.array([1.0]), theta, BagPotentials())
    found = calibration.marginals(scores, bags)
    exact = CountModel(calibration.log_odds(scores), calibration.counts(bags), bags).marginals
    np.testing.assert_allclose(found, exact, atol=1e-12 if size < LONGEST else 0.05)
    assert np.all(np.diff(found[np.argsort(scores)]) >= -1e-12)
