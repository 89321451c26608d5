"""The benchmark on images: generated and read images, scores by scikit-learn, tables, bad input in one sentence."""

import json
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments.images import data as image_data  # noqa: E402
from experiments.images.data import CLASSES, KINDS, NO_LABEL, find_problems, generated, read_problem  # noqa: E402
from experiments.images.decisions import best_sets, cut, score  # noqa: E402
from experiments.images.networks import METHODS, TrainingSettings, methods_named, soft_dice, train  # noqa: E402
from experiments.images.report import compare, report  # noqa: E402
from helpers.experiment_commands import complaint, run  # noqa: E402

FEW = (6, 2, 4)
QUICK = ("--steps", 2, "--seeds", 2, "--rates", "0.01,0.03", "--size", 16)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_again_by_its_seed(kind):
    problem, again, other = (generated(kind, 32, FEW, seed) for seed in (3, 3, 4))
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == list(FEW)
    assert problem.classes == (CLASSES if kind == "classes" else 1)
    np.testing.assert_array_equal(problem.test.images, again.test.images)
    assert not np.array_equal(problem.test.images, other.test.images)


def test_what_the_kinds_are_like():
    for kind, low, high in (
        ("blobs", 0.22, 0.3),
        ("ellipses", 0.05, 0.15),
        ("curves", 0.05, 0.12),
        ("discs", 0, 0.03),
    ):
        assert low < generated(kind).train.labels.mean() < high
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


def test_every_method_trains_a_step_and_decides():
    settings = TrainingSettings(steps=1, rates=(0.01,), seeds=(0,))
    outcomes = [
        compare(generated(kind, 16, (7, 2, 3)), methods_named(None, n), settings)
        for kind, n in (("ellipses", 1), ("classes", 5))
    ]
    assert "argmax" not in [one.name for one in outcomes[0].methods]
    assert {one.name for outcome in outcomes for one in outcome.methods} == set(METHODS)
    titles = [table.title for table in report(outcomes).tables]
    assert titles[1:3] == ["ellipses: losses", "ellipses: decisions"]
    rules = {row[1] for row in report(outcomes).tables[2].rows}
    assert {"cut at 1/2", "threshold chosen on validation images", "least expected loss, temperature"} <= rules


def test_the_same_seed_is_the_same_network():
    problem, settings = generated("ellipses", 16, (7, 2, 3)), TrainingSettings(steps=2)
    values = [train("default", 0.01, 5, problem, settings).values for _ in range(2)]
    np.testing.assert_array_equal(*values)


def test_sets_of_least_expected_loss_are_others_than_the_cut():
    logits = np.random.default_rng(0).normal(-1, 1, (3, 1, 8, 8)).astype(np.float32)
    assert best_sets(1.0, logits).sum() > cut(logits).sum()


def test_generated_images_need_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(image_data, "generated", partial(generated, parts=FEW))
    run(
        "segmentation",
        "--datasets",
        "discs,classes",
        *QUICK,
        "--methods",
        "ce,ce+soft-dice,default",
        "--out",
        tmp_path,
    )
    document = json.loads((tmp_path / "segmentation.json").read_text(encoding="utf-8"))
    table = document["tables"][0]
    assert table["columns"] == ["loss", "discs", "classes", "mean", "worst"]
    found = {row[0]: row[1:] for row in table["rows"]}
    numbers = document["numbers"]["discs"]
    dice = [np.mean([seed["dice"] for seed in next(iter(one["test"].values()))], axis=1) for one in numbers]
    assert found["cross-entropy + soft Dice"][0]["mean"] == pytest.approx(dice[1].mean())
    assert found["cross-entropy"][0]["mean"] == pytest.approx((dice[0] - dice[1]).mean())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--data", "{tmp}/nowhere"], "there is no folder"),
        (["--data", "{tmp}"], "holds no images/*.png with masks/*.png"),
        (["--size", "18"], "the side of images is a multiple of 4"),
        (["--methods", "focal"], "there is no method 'focal'; the names are ce, soft-dice"),
        (["--datasets", "stars"], "there is no data set 'stars'; the names are blobs, ellipses"),
        (["--rates", "fast"], "could not convert string to float: 'fast'"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, options, words):
    assert words in complaint(
        "segmentation", "--out", tmp_path / "o", *(text.format(tmp=tmp_path) for text in options)
    )
