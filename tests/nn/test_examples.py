"""The examples run, their scores are right, bad input ends in one sentence; the page's snippets run as they stand."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

pytestmark = pytest.mark.xdist_group("kernels")

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "pytorch.md"


@pytest.fixture(scope="module")
def example():
    """The modules of the examples' folder by name; they import one another as a script's neighbours do."""
    before, threads = set(sys.modules), torch.get_num_threads()
    yield importlib.import_module
    torch.set_num_threads(threads)
    for name in set(sys.modules) - before:
        if Path(str(getattr(sys.modules[name], "__file__", None))).parent == EXAMPLES:
            del sys.modules[name]


def write_folder(folder, n=12, side=40):
    """A small folder of images and masks, bright squares on dark."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for i in range(n):
        mask = np.zeros((side, side), dtype=np.uint8)
        x, y = rng.integers(0, side - 12, 2)
        mask[y : y + 12, x : x + 12] = 255
        Image.fromarray(mask // 2 + rng.integers(0, 60, mask.shape, dtype=np.uint8)).save(folder / f"images/{i}.png")
        Image.fromarray(mask).convert("1").save(folder / f"masks/{i}.png")
    return folder


def test_quick_run_writes_table_numbers_and_figure(example, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--quick", "--size", "16", "--steps", "3", "--out", str(out), "--dpi", "40"]
    assert example("segment_nuclei").main(["--data", str(write_folder(tmp_path / "data")), *options]) == 0
    printed = capsys.readouterr()
    compared = example("nuclei_training").COMPARED
    assert printed.out.count("\n| ") == len(compared) + 3  # heading, rule, and cross-entropy with a chosen threshold
    assert f"[{len(compared)}/{len(compared)}]" in printed.err
    numbers = json.loads((out / "nuclei.json").read_text(encoding="utf-8"))
    assert [run["method"] for run in numbers["runs"]] == list(compared)
    assert all(0 <= run["test_dice"] <= 1 and run["gradient_norm"]["first"] > 0 for run in numbers["runs"])
    assert (out / "nuclei.png").stat().st_size > 1000
    assert (out / "nuclei.md").read_text(encoding="utf-8").strip() in printed.out


def test_without_a_folder_blobs_are_generated_and_that_is_said(example, tmp_path, capsys):
    options = ["--quick", "--methods", "bd-pixel", "lovasz", "--size", "16", "--steps", "2", "--out", str(tmp_path)]
    assert example("segment_nuclei").main(options) == 0
    printed = capsys.readouterr()
    assert "generated blobs" in printed.err
    assert "B_D Dice, c = 2/p" in printed.out


def _no_folder(folder):
    return ["--data", str(folder / "nowhere")], "nowhere is not a folder"


def _no_masks(folder):
    (write_folder(folder) / "masks" / "7.png").unlink()
    return ["--data", str(folder)], "1 of 12 images have no mask of the same name in masks/, first 7.png"


def _few_images(folder):
    return ["--data", str(write_folder(folder, n=3))], "has 3 PNG files; at least 10 are needed"


def _broken_image(folder):
    (write_folder(folder) / "images" / "3.png").write_bytes(b"no image")
    return ["--data", str(folder)], "3.png cannot be read as an image"


def _odd_size(folder):
    return ["--size", "50"], "--size is a multiple of 4"


def _unknown_method(folder):
    return ["--methods", "bd", "focal"], "there is no method 'focal'"


def _no_steps(folder):
    return ["--steps", "0"], "are positive numbers"


@pytest.mark.parametrize(
    "case", [_no_folder, _no_masks, _few_images, _broken_image, _odd_size, _unknown_method, _no_steps]
)
def test_bad_input_is_one_sentence_and_exit_code_2(example, case, tmp_path, capsys):
    arguments, expected = case(tmp_path)
    assert example("segment_nuclei").main([*arguments, "--out", str(tmp_path / "out")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert expected in lines[0]


def test_scores_agree_with_scikit_learn(example):
    from sklearn.metrics import f1_score, jaccard_score

    segment = example("segment_nuclei")
    rng = np.random.default_rng(0)
    predicted, truth = rng.random((2, 6, 5, 4)) < 0.4
    predicted[0] = truth[0] = False
    truth[1] = False
    flat = list(zip(truth.reshape(6, -1), predicted.reshape(6, -1), strict=True))
    for ours, theirs in ((segment.dice, f1_score), (segment.jaccard, jaccard_score)):
        np.testing.assert_allclose(ours(predicted, truth), [theirs(t, p, zero_division=1.0) for t, p in flat])
    assert torch.isclose(
        torch.tensor(
            example("multilabel_torch").example_f1(*(torch.tensor(a).flatten(1).float() for a in (predicted, truth)))
        ),
        torch.tensor(float(np.mean([f1_score(t, p, zero_division=1.0) for t, p in flat]))),
    )


def test_soft_dice_by_hand(example):
    scores, truth = torch.tensor([[[[0.0, 0.0]]]]), torch.tensor([[[[1.0, 0.0]]]])
    assert float(example("nuclei_training").soft_dice(scores, truth)) == pytest.approx(1 - 2 * 0.5 / (1 + 1))


def test_every_image_is_in_one_part(example):
    data = example("nuclei_data")
    images = np.arange(40, dtype=np.float32).reshape(40, 1, 1)
    parts = data.split(data.Nuclei(images, images > 3), seed=1)
    sizes = [len(part) for part in (parts.train, parts.validation, parts.test)]
    assert sizes == [24, 6, 10]
    everything = np.concatenate([part.images for part in (parts.train, parts.validation, parts.test)])
    assert sorted(everything.ravel()) == list(range(40))


def test_multilabel_example(example, capsys, tmp_path, monkeypatch):
    multilabel = example("multilabel_torch")
    monkeypatch.setattr(multilabel, "SEEDS", range(1))
    assert multilabel.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(multilabel.CRITERIA)
    assert all(0.3 < float(line.split("|")[2].split("±")[0]) < 1 for line in lines[2:])
    assert multilabel.main([str(tmp_path / "a.arff"), "b.arff"]) == 2
    assert multilabel.main(["one.arff"]) == 2
    assert capsys.readouterr().err.count("error: ") == 2


def test_python_snippets_of_the_page_run_in_order(capsys):
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) >= 6
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), names)
