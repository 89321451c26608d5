"""The benchmark on images: generated and read images, scores by scikit-learn, tables, bad input in one sentence."""

import json
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments.images import data as image_data  # noqa: E402
from experiments.images import report as report_module  # noqa: E402
from experiments.images.crops import SmallObjects  # noqa: E402
from experiments.images.data import (  # noqa: E402
    CLASSES,
    KINDS,
    NO_LABEL,
    ImagePart,
    ImageProblem,
    find_problems,
    generated,
    problems_named,
    read_problem,
)
from experiments.images.decisions import cut, dice_of_objects, rules, score  # noqa: E402
from experiments.images.networks import METHODS, TrainingSettings, soft_dice, train  # noqa: E402
from experiments.images.report import Outcome, Run, compare, report  # noqa: E402
from helpers.experiment_commands import complaint, run  # noqa: E402

FEW = (6, 2, 4)
QUICK = ("--steps", 2, "--seeds", 2, "--size", 16)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_again_by_its_seed(kind):
    problem, again, other = (generated(kind, 32, FEW, seed) for seed in (3, 3, 4))
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == list(FEW)
    assert problem.classes == (CLASSES if kind == "classes" else 1)
    np.testing.assert_array_equal(problem.test.images, again.test.images)
    assert not np.array_equal(problem.test.images, other.test.images)
    networks = [train("default", 5, problem, TrainingSettings(steps=2, batch=2)) for _ in range(2)]
    np.testing.assert_array_equal(networks[0].values, networks[1].values)


def test_what_the_kinds_are_like():
    assert 0.05 < generated("ellipses").train.labels.mean() < 0.15
    assert 0.35 < generated("lesions").train.labels.any((1, 2)).mean() < 0.65
    counts = np.bincount(generated("classes").train.labels.ravel(), minlength=CLASSES)
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


def write_classes(folder):
    rng, arrays = np.random.default_rng(1), {}
    for part, n in (("train", 8), ("val", 2), ("test", 3)):
        labels = np.repeat(np.repeat(rng.integers(0, 4, (n, 6, 8)), 4, 1), 4, 2).astype(np.uint8)
        arrays |= {
            f"{part}_labels": labels,
            f"{part}_images": (50 * labels[..., None] + np.zeros(3)).astype(np.uint8),
        }
    folder.mkdir(parents=True)
    np.savez(folder / "streets.npz", **arrays)


def test_folders_are_read(tmp_path):
    write_masks(tmp_path / "eyes")
    write_classes(tmp_path / "streets")
    assert list(find_problems(tmp_path)) == ["eyes", "streets"]
    eyes = read_problem("eyes", tmp_path / "eyes", 16)  # persons are in one part
    assert [len(part) for part in (eyes.train, eyes.validation, eyes.test)] == [12, 4, 4]
    assert eyes.test.images.shape[1:] == (3, 16, 16)
    streets = read_problem("streets", tmp_path / "streets", 16)  # labels beyond the last class are none
    assert streets.classes == 3
    assert set(np.unique(streets.train.labels)) == {NO_LABEL, 0, 1, 2}
    assert streets.train.labels.shape[1:] == (12, 16)


def test_png_files_are_read(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    for part in ("images", "masks"):
        (tmp_path / "cells" / part).mkdir(parents=True)
    for i in range(12):
        mask = np.zeros((20, 20), dtype=np.uint8)
        mask[i : i + 6, 3:9] = 255
        image_module.fromarray(mask // 2 + 20).save(tmp_path / f"cells/images/{i}.png")
        image_module.fromarray(mask).save(tmp_path / f"cells/masks/{i}.png")
    assert read_problem("cells", tmp_path / "cells", 16).train.images.shape == (7, 1, 16, 16)
    (tmp_path / "cells/images/3.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"3\.png cannot be read as an image"):
        read_problem("cells", tmp_path / "cells", 16)
    (tmp_path / "cells/masks/7.png").unlink()
    with pytest.raises(ValueError, match=r"1 of 12 images have no mask of the same name, first 7\.png"):
        read_problem("cells", tmp_path / "cells", 16)


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


@pytest.mark.parametrize("kind", ["lesions", "classes"])
def test_every_method_trains_a_step(kind, monkeypatch):
    monkeypatch.setattr(image_data, "generated", partial(generated, parts=(4, 1, 1)))
    problem = problems_named(None, [kind], 16)[0]()
    for method in METHODS:
        assert np.isfinite(train(method, 0, problem, TrainingSettings(steps=1, batch=2)).values).all()


def test_runs_are_kept_and_tables_made_of_them(tmp_path, monkeypatch):
    problems = [generated("ellipses", 16, (4, 3, 3)), generated("classes", 16, (4, 3, 3))]
    settings = TrainingSettings(steps=1, batch=2, seeds=(0, 1))
    first = report(compare(problems, ["ce+soft-dice", "objects"], settings, tmp_path))
    monkeypatch.setattr(report_module, "train", None)  # nothing is trained again
    again = report(compare(problems, ["ce+soft-dice", "objects"], settings, tmp_path))
    assert first.markdown() == again.markdown()
    assert [table.title for table in again.tables] == ["Losses", "Decisions", "Objects of ellipses"]
    decided = {row[1] for row in again.tables[1].rows}
    assert {"plain: 1/2, argmax", "`fit_threshold`", "`calibrate_pixels`"} <= decided


def test_small_objects_are_on_half_of_the_crops(tmp_path):
    write_masks(tmp_path / "eyes", side=64)
    few = problems_named(tmp_path, ["eyes-few"], 32)[0]()
    for part in (few.train, few.validation, few.test):
        shares = part.labels.mean((1, 2))
        assert part.images.shape[1:] == (3, 32, 32)
        assert ((shares > 0) & (shares <= 0.06)).sum() == (shares == 0).sum() == len(part) / 2
        for image, mask in zip(part.images, part.labels, strict=True):
            assert not mask.any() or image[:, mask == 1].min() > image[:, mask == 0].max()
    with pytest.raises(ValueError, match=r"eyes-few: no square of 64 .* or none is empty"):
        problems_named(tmp_path, ["eyes-few"], 64)[0]()


def test_larger_objects_are_background_among_small_ones():
    masks = np.zeros((10, 64, 64), dtype=np.int64)
    masks[:, 4:8, 4:8] = 1  # 16 pixels
    masks[:, 30:50, 30:50] = 1
    part = ImagePart(np.zeros((10, 1, 64, 64), dtype=np.float32), masks)
    problem = SmallObjects(lambda: ImageProblem("a", 1, part, part, part), "a-small", 32, 0.25)()
    assert set(problem.train.labels.sum((1, 2))) <= set(range(17))
    assert problem.train.labels.max() == 1


def test_dice_with_objects_and_images_left_empty():
    problem = generated("lesions", 16, (4, 3, 20))
    labels = problem.test.labels
    for found, expected in ((0 * labels, [0, 1]), (labels, [1, 1]), (1 - 0 * labels, [None, 0])):
        run = Run(1.0, score(found > 0, labels, 1), {}, None)
        (row,) = report_module.empty_table([Outcome(problem, TrainingSettings(), {"ce": (run, run)})]).rows
        dice, empty, every = (cell.mean for cell in row[1:])
        assert empty == expected[1]
        assert dice == expected[0] or expected[0] is None
        assert every == pytest.approx(score(found > 0, labels, 1).dice.mean())


def test_dice_of_objects_by_hand():
    labels, predicted = np.zeros((2, 1, 6), dtype=np.int64), np.zeros((2, 1, 6), dtype=bool)
    labels[0, 0, [0, 1, 5]], predicted[0, 0, [1, 2]] = 1, True
    dice, sizes = dice_of_objects(predicted, labels)
    np.testing.assert_allclose(dice, [2 / 4, 0])
    assert sizes.tolist() == [2, 1]


def test_rules_are_learned_on_validation_images():
    """Logits that are too low: the cut finds nothing, all the others find the square."""
    labels = np.zeros((6, 8, 8), dtype=np.int64)
    labels[:, 2:5, 2:5] = 1
    logits = np.where(labels, -0.5, -4.0)[:, None] + np.random.default_rng(0).normal(0, 0.2, (6, 1, 8, 8))
    for name, decide in rules(logits.astype(np.float32), labels).items():
        found = score(decide(logits.astype(np.float32)), labels, 1).dice.mean()
        assert (found < 0.1) == (decide is cut), name


def test_generated_images_need_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(image_data, "generated", partial(generated, parts=FEW))
    chosen = ("--datasets", "ellipses,classes", "--methods", "ce,ce+soft-dice,default")
    run("segmentation", *chosen, *QUICK, "--out", tmp_path, "--pages", tmp_path / "images")
    document = json.loads((tmp_path / "segmentation.json").read_text(encoding="utf-8"))
    table = document["tables"][0]
    assert table == json.loads((tmp_path / "images_losses.json").read_text(encoding="utf-8"))
    assert table["columns"] == ["loss", "ellipses", "classes", "mean", "worst", "ms a step"]
    found = {row[0]: row[1:] for row in table["rows"]}
    numbers = document["numbers"]["ellipses"]
    dice = [np.array(one["dice"]) for one in numbers]
    assert found["cross-entropy + soft Dice"][0]["mean"] == pytest.approx(dice[1].mean())
    assert found["cross-entropy"][0]["mean"] == pytest.approx((dice[0] - dice[1]).mean())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--data", "{tmp}/nowhere"], "there is no folder"),
        (["--data", "{tmp}"], "holds no images/*.png with masks/*.png"),
        (["--size", "18"], "the side of images is a multiple of 4"),
        (["--methods", "focal"], "there is no method 'focal'; the names are ce, ce+soft-dice"),
        (["--datasets", "stars"], "there is no data set 'stars'; the names are ellipses, lesions"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, options, words):
    assert words in complaint(
        "segmentation", "--out", tmp_path / "o", *(text.format(tmp=tmp_path) for text in options)
    )
