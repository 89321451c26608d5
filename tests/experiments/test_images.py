"""The benchmark on images: generated and read images, scores by scikit-learn, tables, bad input in one sentence."""

import json
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import f1_score, jaccard_score

torch = pytest.importorskip("torch")

from experiments.images import report as reports  # noqa: E402
from experiments.images.crops import SmallObjects  # noqa: E402
from experiments.images.data import KINDS, NO_LABEL, ImagePart, ImageProblem, generated, problems_named  # noqa: E402
from experiments.images.decisions import cut, dice_of_objects, rules, score  # noqa: E402
from experiments.images.networks import METHODS, TrainingSettings, soft_dice, train  # noqa: E402
from helpers.experiment_commands import complaint, run  # noqa: E402

FEW = (6, 2, 4)


# ---------------------------------------------------------------- images


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_again_by_its_seed(kind):
    problem, again, other = (generated(kind, 32, FEW, seed) for seed in (3, 3, 4))
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == list(FEW)
    np.testing.assert_array_equal(problem.test.images, again.test.images)
    assert not np.array_equal(problem.test.images, other.test.images)
    networks = [train("default", 5, problem, TrainingSettings(steps=2, batch=2)) for _ in range(2)]
    np.testing.assert_array_equal(networks[0].values, networks[1].values)


def test_what_the_kinds_are_like():
    assert 0.05 < generated("ellipses").train.labels.mean() < 0.15
    assert 0.35 < generated("lesions").train.labels.any((1, 2)).mean() < 0.65
    counts = np.bincount(generated("classes").train.labels.ravel())
    assert np.all(np.diff(counts) < 0)


def write_masks(folder, people=10, side=16):
    """Two images of everyone, as an .npz: bright squares."""
    rng = np.random.default_rng(0)
    masks = np.zeros((2 * people, side, side + 2), dtype=bool)
    for mask in masks:
        y, x = rng.integers(0, side - 6, 2)
        mask[y : y + 6, x : x + 6] = True
    images = (100 * masks[..., None] + rng.integers(0, 60, (*masks.shape, 3))).astype(np.uint8)
    folder.mkdir(parents=True)
    names = [f"{i // 2:02d}{'LR'[i % 2]}" for i in range(2 * people)]
    np.savez(folder / "eyes.npz", images=images, masks=masks, names=names)


def test_folders_are_read(tmp_path):
    write_masks(tmp_path / "eyes")
    arrays = {}
    for part, n in (("train", 8), ("val", 2), ("test", 3)):
        labels = np.random.default_rng(n).integers(0, 4, (n, 24, 32), dtype=np.uint8)
        arrays |= {f"{part}_labels": labels, f"{part}_images": labels[..., None]}
    (tmp_path / "streets").mkdir()
    np.savez(tmp_path / "streets" / "streets.npz", **arrays)
    image_module = pytest.importorskip("PIL.Image")
    for part in ("images", "masks"):
        (tmp_path / "cells" / part).mkdir(parents=True)
    for i in range(12):
        mask = np.zeros((20, 20), dtype=np.uint8)
        mask[i : i + 6, 3:9] = 255
        image_module.fromarray(mask // 2 + 20).save(tmp_path / f"cells/images/{i}.png")
        image_module.fromarray(mask).save(tmp_path / f"cells/masks/{i}.png")
    cells, eyes, streets = (read() for read in problems_named(tmp_path, None, 16))
    assert cells.train.images.shape == (7, 1, 16, 16)
    assert [len(part) for part in (eyes.train, eyes.validation, eyes.test)] == [12, 4, 4]  # a person is in one part
    assert eyes.test.images.shape[1:] == (3, 16, 16)
    assert streets.classes == 3  # labels beyond the last class are none
    assert set(np.unique(streets.train.labels)) == {NO_LABEL, 0, 1, 2}
    assert streets.train.labels.shape[1:] == (12, 16)
    (tmp_path / "cells/masks/7.png").unlink()
    with pytest.raises(ValueError, match=r"1 of 12 images have no mask of the same name, first 7\.png"):
        problems_named(tmp_path, ["cells"], 16)[0]()


def test_small_objects_are_on_half_of_the_crops(tmp_path):
    write_masks(tmp_path / "eyes", side=64)
    few = problems_named(tmp_path, ["eyes-few"], 32)[0]()
    assert len(few.train) > 200  # all that there are, up to 200 with objects
    for part in (few.train, few.validation, few.test):
        shares = part.labels.mean((1, 2))
        assert part.images.shape[1:] == (3, 32, 32)
        assert ((shares > 0) & (shares <= 0.06)).sum() == (shares == 0).sum() == len(part) / 2
        for image, mask in zip(part.images, part.labels, strict=True):
            assert not mask.any() or image[:, mask == 1].min() > image[:, mask == 0].max()


def test_larger_objects_are_background_among_small_ones():
    masks = np.zeros((10, 64, 64), dtype=np.int64)
    masks[:, 4:8, 4:8] = 1  # 16 pixels
    masks[:, 30:50, 30:50] = 1
    part = ImagePart(np.zeros((10, 1, 64, 64), dtype=np.float32), masks)
    problem = SmallObjects(lambda: ImageProblem("a", 1, part, part, part), "a-small", 32, 0.25)()
    assert set(problem.train.labels.sum((1, 2))) <= set(range(17))
    assert problem.train.labels.max() == 1


# ---------------------------------------------------------------- scores and decisions


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    predicted, truth = rng.random((2, 6, 5, 4)) < 0.4
    predicted[0] = truth[0] = truth[1] = False
    found = score(predicted, truth.astype(np.int64), 1)
    flat = list(zip(truth.reshape(6, -1), predicted.reshape(6, -1), strict=True))
    np.testing.assert_allclose(found.dice, [f1_score(t, p, zero_division=1.0) for t, p in flat])
    np.testing.assert_allclose(found.jaccard, [jaccard_score(t, p, zero_division=1.0) for t, p in flat])
    labels, guessed = rng.integers(0, 3, (2, 4, 5, 6))
    labels[0] %= 2  # of an image those classes count that are on it
    found, flat = score(guessed, labels, 3), list(zip(labels.reshape(4, -1), guessed.reshape(4, -1), strict=True))
    each = [jaccard_score(t, p, labels=np.unique(t), average="macro") for t, p in flat]
    np.testing.assert_allclose(found.jaccard, each)
    np.testing.assert_allclose(found.overall, jaccard_score(labels.ravel(), guessed.ravel(), average="macro"))


def test_soft_dice_by_hand():
    scores, truth = torch.zeros(1, 1, 1, 2), torch.tensor([[[1, 0]]])
    assert float(soft_dice(scores, truth)) == pytest.approx(1 - 2 * 0.5 / (1 + 1))
    three = soft_dice(torch.zeros(1, 3, 1, 2), torch.tensor([[[0, NO_LABEL]]]))
    assert float(three) == pytest.approx((1 - 2 / 3 / (4 / 3) + 2) / 3, abs=1e-4)


def test_dice_of_objects_by_hand():
    labels, predicted = np.zeros((2, 1, 6), dtype=np.int64), np.zeros((2, 1, 6), dtype=bool)
    labels[0, 0, [0, 1, 5]], predicted[0, 0, [1, 2]] = 1, True
    dice, sizes = dice_of_objects(predicted, labels)
    np.testing.assert_allclose(dice, [2 / 4, 0])
    assert sizes.tolist() == [2, 1]
    objects = np.array([0.9, 0.0, 0.6, 0.5]), np.array([9, 1, 7, 8])
    made = reports.Run(1.0, score(predicted, labels, 1), {}, objects)
    outcome = reports.Outcome(generated("ellipses", 16, FEW), TrainingSettings(), {"ce": (made, made)})
    (row,) = reports.objects_table(outcome).rows
    assert [cell.mean for cell in row[1:5]] == [0.5, 0.25, 0.0, 1.0]  # of the smallest quarter: the second alone


def test_dice_with_objects_and_images_left_empty():
    problem = generated("lesions", 16, (4, 3, 20))
    labels = problem.test.labels
    for found, expected in ((0 * labels, [0, 1]), (labels, [1, 1]), (1 - 0 * labels, [None, 0])):
        made = reports.Run(1.0, score(found > 0, labels, 1), {}, None)
        (row,) = reports.empty_table([reports.Outcome(problem, TrainingSettings(), {"ce": (made, made)})]).rows
        dice, empty, every = (cell.mean for cell in row[1:])
        assert empty == expected[1]
        assert dice == expected[0] or expected[0] is None
        assert every == pytest.approx(score(found > 0, labels, 1).dice.mean())


def test_rules_are_learned_on_validation_images():
    """Logits that are too low: the cut finds nothing, all the others find the square."""
    labels = np.zeros((6, 8, 8), dtype=np.int64)
    labels[:, 2:5, 2:5] = 1
    logits = np.where(labels, -0.5, -4.0)[:, None] + np.random.default_rng(0).normal(0, 0.2, (6, 1, 8, 8))
    for name, decide in rules(logits.astype(np.float32), labels).items():
        found = score(decide(logits.astype(np.float32)), labels, 1).dice.mean()
        assert (found < 0.1) == (decide is cut), name


# ---------------------------------------------------------------- tables


def test_the_command_keeps_runs_and_makes_tables_of_them(tmp_path, monkeypatch):
    """All methods on masks and on classes; the second time nothing is trained."""
    chosen = ("--datasets", "ellipses,classes", "--steps", 2, "--seeds", 2, "--size", 16)
    parts = []
    for trained in (train, None):
        monkeypatch.setattr(reports, "train", trained)
        with monkeypatch.context() as patch:
            patch.setattr("experiments.images.data.generated", partial(generated, parts=FEW))
            run("segmentation", *chosen, "--out", tmp_path, "--pages", tmp_path / "images")
        parts.append(json.loads((tmp_path / "segmentation.json").read_text(encoding="utf-8")))
    assert parts[0] == parts[1]
    losses, decisions, *_ = parts[0]["tables"]
    assert losses == json.loads((tmp_path / "images_losses.json").read_text(encoding="utf-8"))
    assert [table["title"] for table in parts[0]["tables"]] == ["Losses", "Decisions", "Objects of ellipses"]
    assert losses["columns"] == ["loss", "ellipses", "classes", "mean", "worst", "ms a step"]
    assert len(losses["rows"]) == len(METHODS)
    found = {row[0]: row[1:] for row in losses["rows"]}
    dice = {one["method"]: np.array(one["dice"]) for one in parts[0]["numbers"]["ellipses"]}
    assert found["cross-entropy + soft Dice"][0]["mean"] == pytest.approx(dice["ce+soft-dice"].mean())
    overall = {one["method"]: np.array(one["overall"]) for one in parts[0]["numbers"]["classes"]}
    gains = [(one["ce"] - one["ce+soft-dice"]).mean() for one in (dice, overall)]
    assert [cell["mean"] for cell in found["cross-entropy"][:2]] == pytest.approx(gains)
    assert found["cross-entropy"][2:4] == [f"{np.mean(gains):.3f}", f"{min(gains):.3f}"]
    assert {"plain: 1/2, argmax", "`fit_threshold`", "`calibrate_pixels`"} <= {row[1] for row in decisions["rows"]}


def test_bad_input_is_one_sentence(tmp_path):
    assert "holds no images/*.png with masks/*.png" in complaint("segmentation", "--data", tmp_path)
    assert "the side of images is a multiple of 4" in complaint("segmentation", "--size", 18)
    assert "there is no method 'focal'; the names are ce," in complaint("segmentation", "--methods", "focal")
