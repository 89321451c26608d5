"""Generated bags: shapes, shares and difficulties as documented."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.svm import LinearSVC

from experiments.generators import TOY_NEGATIVES, make_toy, make_tracks
from setloss.io import Tracks


def error(tracks, seen):
    model = LinearSVC(loss="hinge", C=1, tol=0.1, random_state=0, max_iter=10000).fit(tracks.X[seen], tracks.y[seen])
    return 1 - model.score(tracks.X[~seen], tracks.y[~seen])


def test_tracks_have_the_shape_and_the_difficulty_of_the_paper():
    tracks = make_tracks()
    sizes = np.bincount(tracks.groups)
    assert (tracks.X.shape, tracks.X.dtype) == ((27504, 1937), np.float32)
    assert (len(sizes), sizes.min(), sizes.max()) == (1437, 1, 198)
    labels = tracks.y[np.concatenate(([0], np.cumsum(sizes)[:-1]))]
    np.testing.assert_array_equal(np.repeat(labels, sizes), tracks.y)
    assert labels.mean() == pytest.approx(0.25, abs=1e-3)
    assert np.linalg.norm(tracks.X[::50], axis=1).mean() == pytest.approx(np.sqrt(2), abs=0.05)
    some = Tracks(tracks.X[::3], tracks.y[::3], tracks.groups[::3], None)  # frames of a track are much alike
    assert 0.17 < error(some, some.groups < 958) < 0.23


def test_frames_of_a_track_share_label_and_identity():
    still = make_tracks(10, 60, 4, noise=0.0)
    assert len(np.unique(np.column_stack([still.X, still.y, still.groups]), axis=0)) == 10
    means = make_tracks(10, 60, 4, noise=0.0, identity=0.0)
    np.testing.assert_allclose(means.X[means.y == 1][0], -means.X[means.y == 0][0])


def test_toy_bags():
    toy = make_toy(n_bags=51, p=4)
    assert toy.X.shape == (204, 2)
    np.testing.assert_array_equal(toy.groups, np.repeat(np.arange(51), 4))
    assert set(toy.y.reshape(51, 4).mean(1)) == {0, 1}
    mixed = make_toy(n_bags=51, p=4, homogeneous=False, positive=0.25)
    assert mixed.y.sum() == 51
    assert len(set(mixed.y.reshape(51, 4).mean(1))) > 2


def test_the_best_line_of_the_toy_problem_errs_as_the_papers_svm():
    toy = make_toy(n_bags=8000)
    best = norm.cdf(-TOY_NEGATIVES[0][0] / np.sqrt(8))  # half the distance to the line through the negatives
    assert 6 * best == pytest.approx(0.537, abs=0.005)
    assert error(toy, toy.groups < 2000) == pytest.approx(best, abs=0.005)
