"""``experiments segmentation``: images in, tables out; scores by scikit-learn; bad input in one sentence."""

import json

import numpy as np
import pytest
import torch

from experiments.images.data import NO_LABEL, find_problems, read_problem
from experiments.images.generated import generated
from experiments.images.methods import METHODS, names, soft_dice
from experiments.images.protocol import compare
from experiments.images.report import report
from experiments.images.rules import best_sets, cut, expected_loss
from experiments.images.scores import object_scores, score
from experiments.images.training import NetworkRun, TrainingSettings, train_once
from helpers.experiment_commands import complaint, run
from setloss.decisions.pixels import decide_pixels


def write_masks(folder, people=6, side=16):
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


def write_classes(folder):
    rng = np.random.default_rng(1)
    arrays = {}
    for part, n in (("train", 8), ("val", 2), ("test", 3)):
        labels = np.repeat(np.repeat(rng.integers(0, 4, (n, 6, 8)), 4, 1), 4, 2).astype(np.uint8)
        arrays |= {
            f"{part}_labels": labels,
            f"{part}_images": (50 * labels[..., None] + np.zeros(3)).astype(np.uint8),
        }
    folder.mkdir(parents=True)
    np.savez(folder / "streets.npz", **arrays)


def write_files(folder, n=12):
    image_module = pytest.importorskip("PIL.Image")
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for i in range(n):
        mask = np.zeros((20, 20), dtype=np.uint8)
        mask[i : i + 6, 3:9] = 255
        image_module.fromarray(mask // 2 + 20).save(folder / f"images/{i}.png")
        image_module.fromarray(mask).save(folder / f"masks/{i}.png")


QUICK = ("--steps", 2, "--seeds", 2, "--rates", "0.01,0.03", "--size", 16)


def test_tables_of_masks_and_of_classes(tmp_path):
    write_masks(tmp_path / "data" / "eyes")
    write_classes(tmp_path / "data" / "streets")
    out = tmp_path / "out"
    result = run(
        "segmentation",
        "--data",
        tmp_path / "data",
        "--out",
        out,
        *QUICK,
        "--methods",
        "ce,ce+soft-dice,default,ce+argmax",
    )
    assert "eyes: losses" in result.stdout
    assert "streets: decisions" in result.stdout
    assert "least expected loss, temperature" in result.stdout
    numbers = json.loads((out / "segmentation.json").read_text(encoding="utf-8"))["numbers"]
    assert [one["method"] for one in numbers["eyes"]] == ["ce", "ce+soft-dice", "default"]
    assert [one["method"] for one in numbers["streets"]] == ["ce", "ce+soft-dice", "default", "ce+argmax"]
    kept = sorted(path.name for path in (out / "networks").iterdir())
    assert len(kept) == 3 * 3 + 4 * 3
    times = {path.name: path.stat().st_mtime_ns for path in (out / "networks").iterdir()}
    run("segmentation", "--data", tmp_path / "data" / "eyes", "--out", out, *QUICK, "--methods", "default")
    again = json.loads((out / "segmentation.json").read_text(encoding="utf-8"))
    assert again["numbers"]["eyes"][0]["test"] == numbers["eyes"][2]["test"]
    assert {path.name: path.stat().st_mtime_ns for path in (out / "networks").iterdir()} == times


def test_persons_are_in_one_part(tmp_path):
    write_masks(tmp_path / "eyes", people=10)
    problem = read_problem("eyes", tmp_path / "eyes", 16)
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == [12, 4, 4]
    assert problem.test.images.shape[1:] == (3, 16, 16)


def test_labels_beyond_the_last_class_are_none(tmp_path):
    write_classes(tmp_path / "streets")
    problem = read_problem("streets", tmp_path / "streets", 16)
    assert problem.classes == 3
    assert set(np.unique(problem.train.labels)) == {NO_LABEL, 0, 1, 2}
    assert problem.train.labels.shape[1:] == (12, 16)


def test_png_files_are_read(tmp_path):
    write_files(tmp_path / "cells")
    problem = read_problem("cells", find_problems(tmp_path, 16)["cells"], 16)
    assert problem.train.images.shape == (7, 1, 16, 16)
    assert problem.classes == 1


def _nothing(folder):
    (folder / "data").mkdir()
    return [], "holds no images/\\*.png with masks/\\*.png"


def _one_mask_less(folder):
    write_files(folder / "data")
    (folder / "data" / "masks" / "7.png").unlink()
    return [], "1 of 12 images have no mask of the same name in masks/, first 7.png"


def _few(folder):
    write_files(folder / "data", n=3)
    return [], "has 3 images; at least 10 are needed"


def _no_image(folder):
    write_files(folder / "data")
    (folder / "data" / "images" / "3.png").write_bytes(b"no image")
    return [], "3.png cannot be read as an image"


def _odd_size(folder):
    write_masks(folder / "data")
    return ["--size", "18"], "the side of images is a multiple of 4"


def _unknown_method(folder):
    write_masks(folder / "data")
    return ["--methods", "focal"], "there is no method 'focal'; the names are ce, soft-dice"


def _unknown_data(folder):
    write_masks(folder / "data")
    return ["--datasets", "ears"], "there is no data set 'ears'"


def _bad_rate(folder):
    write_masks(folder / "data")
    return ["--rates", "fast"], "could not convert string to float: 'fast'"


@pytest.mark.parametrize(
    "case", [_nothing, _one_mask_less, _few, _no_image, _odd_size, _unknown_method, _unknown_data, _bad_rate]
)
def test_bad_input_is_one_sentence(case, tmp_path):
    arguments, expected = case(tmp_path)
    said = complaint("segmentation", "--data", tmp_path / "data", "--out", tmp_path / "out", "--steps", 1, *arguments)
    assert expected.replace("\\", "") in said


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import f1_score, jaccard_score

    rng = np.random.default_rng(0)
    predicted, truth = rng.random((2, 6, 5, 4)) < 0.4
    predicted[0] = truth[0] = truth[1] = False
    found = score(predicted, truth.astype(np.int64), 1)
    flat = list(zip(truth.reshape(6, -1), predicted.reshape(6, -1), strict=True))
    np.testing.assert_allclose(found.dice, [f1_score(t, p, zero_division=1.0) for t, p in flat])
    np.testing.assert_allclose(found.jaccard, [jaccard_score(t, p, zero_division=1.0) for t, p in flat])
    labels, guessed = rng.integers(0, 3, (2, 4, 5, 6))
    overall = jaccard_score(labels.ravel(), guessed.ravel(), average="macro")
    np.testing.assert_allclose(score(guessed, labels, 3).overall, overall)


def test_soft_dice_by_hand():
    scores, truth = torch.zeros(1, 1, 1, 2), torch.tensor([[[1, 0]]])
    assert float(soft_dice(scores, truth)) == pytest.approx(1 - 2 * 0.5 / (1 + 1))
    three = soft_dice(torch.zeros(1, 3, 1, 2), torch.tensor([[[0, NO_LABEL]]]))
    assert float(three) == pytest.approx((1 - 2 / 3 / (4 / 3) + 2) / 3, abs=1e-4)


def test_every_method_trains_a_step():
    settings = TrainingSettings(steps=1, rates=(0.01,), seeds=(0,))
    problem = generated("ellipses", 16, (7, 2, 3))
    outcome = compare(problem, names(1), settings, None)
    assert [one.name for one in outcome.methods] == [name for name in METHODS if name in names(1)]
    assert [table.title for table in report([outcome]).tables][2] == "ellipses: objects"
    assert "argmax" not in names(1)


def test_the_same_seed_is_the_same_network():
    settings = TrainingSettings(steps=2)
    problem = generated("ellipses", 16, (7, 2, 3))
    runs = [train_once(NetworkRun("default", 0.01, 5), problem, settings, None) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].values, runs[1].values)


@pytest.mark.parametrize("classes", [1, 3])
def test_the_sets_of_least_expected_loss_have_the_least(classes):
    rng = np.random.default_rng(classes)
    logits = rng.normal(-1, 2, (3, classes, 8, 8)).astype(np.float32)
    loss = "dice" if classes == 1 else "jaccard"
    found = {"cut": cut(logits), "best": best_sets(1.0, loss, logits), "none": np.zeros((3, 8, 8), dtype=int)}
    values = {name: expected_loss(predicted, logits, 1.0) for name, predicted in found.items()}
    assert values["best"] < values["none"]
    if classes == 1:  # of classes, pixels wanted twice are shared by a rule of thumb
        assert values["best"] <= values["cut"]
        exact = [decide_pixels(1 / (1 + np.exp(-one.astype(np.float64))), loss).expected_loss for one in logits]
        assert values["best"] == pytest.approx(np.mean(exact), abs=1e-3)


def test_objects_by_hand():
    truth, found = np.zeros((2, 6, 10), dtype=np.int64), np.zeros((2, 6, 10), dtype=bool)
    truth[0, :2, :2], truth[0, 3:, 6:] = 1, 1
    found[0, :2, :2], found[0, 0, 2] = True, True
    scores = object_scores(found, truth)
    np.testing.assert_array_equal(scores.sizes, [4, 12])
    np.testing.assert_allclose(scores.dice, [2 * 4 / (4 + 5), 0])
