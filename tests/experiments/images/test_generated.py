"""Generated images, splits without the test images, and the table of all data sets."""

import json
from functools import partial

import numpy as np
import pytest

from experiments.images.data import ImageError, read_problem
from experiments.images.generated import CLASSES, KINDS, generated
from helpers.experiment_commands import complaint, run

FEW = (6, 2, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_again_by_its_seed(kind):
    problem, again, other = (generated(kind, 32, FEW, seed) for seed in (3, 3, 4))
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == list(FEW)
    assert problem.train.images.shape == (6, 1, 32, 32)
    assert problem.classes == (CLASSES if kind == "classes" else 1)
    np.testing.assert_array_equal(problem.test.images, again.test.images)
    assert not np.array_equal(problem.test.images, other.test.images)


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("blobs", 0.22, 0.3), ("ellipses", 0.05, 0.15), ("curves", 0.05, 0.12), ("discs", 0.005, 0.03)],
)
def test_how_much_is_positive(kind, low, high):
    assert low < generated(kind).train.labels.mean() < high


def test_half_of_the_images_have_no_lesion():
    shares = generated("lesions").train.labels.any((1, 2)).mean()
    assert 0.35 < shares < 0.65


def test_the_last_classes_are_rare():
    counts = np.bincount(generated("classes").train.labels.ravel(), minlength=CLASSES)
    assert np.all(np.diff(counts) < 0)
    assert counts[-1] > 0


def write_people(folder, people, each=2):
    images = np.arange(each * people)[:, None, None] * np.ones((each * people, 8, 8))
    names = [f"{i // each:02d}{'LR'[i % 2]}" for i in range(each * people)]
    folder.mkdir()
    rng = np.random.default_rng(0)
    np.savez(folder / "eyes.npz", images=images + rng.random(images.shape), masks=images % 3 == 0, names=names)


def rows(part):
    return {image.tobytes() for image in part.images}


def test_a_split_leaves_the_test_images_out(tmp_path):
    write_people(tmp_path / "eyes", 12)
    whole = read_problem("eyes", tmp_path / "eyes", 8)
    first, second = (read_problem("eyes", tmp_path / "eyes", 8, split) for split in (1, 2))
    for problem in (first, second):
        parts = [rows(part) for part in (problem.train, problem.validation, problem.test)]
        assert set.union(*parts) == rows(whole.train) | rows(whole.validation)
        assert sum(map(len, parts)) == len(set.union(*parts))
    assert rows(first.train) != rows(second.train)


def test_a_split_of_files_that_have_parts(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        f"{part}_images": rng.integers(0, 99, (n, 8, 8, 3)) for part, n in (("train", 9), ("val", 3), ("test", 4))
    }
    labels = {name.replace("images", "labels"): images[..., 0] % 4 for name, images in arrays.items()}
    (tmp_path / "streets").mkdir()
    np.savez(tmp_path / "streets" / "streets.npz", **arrays, **labels)
    problem = read_problem("streets", tmp_path / "streets", 8, split=5)
    assert [len(part) for part in (problem.train, problem.validation, problem.test)] == [7, 2, 3]
    assert not rows(problem.train) & rows(problem.test)
    assert not rows(read_problem("streets", tmp_path / "streets", 8).test) & rows(problem.test)


def test_too_few_groups_for_a_split(tmp_path):
    write_people(tmp_path / "eyes", 4, each=3)
    assert len(read_problem("eyes", tmp_path / "eyes", 8).test)
    with pytest.raises(ImageError, match="eyes has 3 groups of images; at least 4 are needed for three parts"):
        read_problem("eyes", tmp_path / "eyes", 8, split=0)


@pytest.fixture
def few_images(monkeypatch):
    """Problems of a few images."""
    monkeypatch.setattr("experiments.images.generated.generated", partial(generated, parts=FEW))


@pytest.mark.usefixtures("few_images")
def test_generated_images_need_no_folder(tmp_path):
    arguments = ["--datasets", "discs,classes", "--size", "16", "--steps", "1", "--rates", "0.01", "--seeds", "2"]
    options = ["--methods", "ce,ce+soft-dice,default", "--split", "7", "--out", str(tmp_path)]
    run("segmentation", *arguments, *options)
    table = json.loads((tmp_path / "segmentation.json").read_text(encoding="utf-8"))["tables"][0]
    assert table["columns"] == ["loss", "discs (split 7)", "classes (split 7)", "mean", "worst"]
    found = {row[0]: row[1:] for row in table["rows"]}
    numbers = json.loads((tmp_path / "segmentation.json").read_text(encoding="utf-8"))["numbers"]["discs (split 7)"]
    dice = [np.mean([seed["dice"] for seed in next(iter(one["test"].values()))], axis=1) for one in numbers]
    assert found["cross-entropy + soft Dice"][0]["mean"] == pytest.approx(dice[1].mean())
    assert found["cross-entropy"][0]["mean"] == pytest.approx((dice[0] - dice[1]).mean())
    gains = [cell["mean"] for cell in found["cross-entropy"][:2]]
    assert found["cross-entropy"][2:] == [f"{np.mean(gains):.3f}", f"{min(gains):.3f}"]


def test_names_of_generated_images_are_said(tmp_path):
    said = complaint("segmentation", "--datasets", "stars", "--out", tmp_path)
    assert "the names are blobs, ellipses, curves, discs, lesions, classes" in said
