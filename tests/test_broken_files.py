"""Every way a file can be broken ends in the reader's own error: one sentence with file, place and remedy."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.loaders import load_japanese_vowels, load_spoken_arabic_digits
from helpers import broken_files
from helpers.broken import checkpoints, models
from helpers.broken.arff import XML
from helpers.broken_files import CASES
from helpers.command_line import complaint
from helpers.forked import ended
from setloss.cli import app
from setloss.datasets import DatasetError, load

NEEDS = {"CSV": ("pandas",), "Parquet": ("pandas", "pyarrow"), "model": ("skops",)}
PAGE = Path(__file__).parents[1] / "docs" / "broken-files.md"
WITHOUT_A_NAME = ("must be 0 or 1", "must be at least", "other.xml", "one or the other")

DATA = [case for case in CASES if case.reader not in ("series", "digits", "table", "model", "checkpoint")]
TABLES = [case for case in CASES if case.reader == "table"]
MODELS = [case for case in CASES if case.reader == "model"]
CHECKPOINTS = [case for case in CASES if case.reader == "checkpoint" and case.says == (checkpoints.DAMAGED,)]


def broken(which):
    return pytest.mark.parametrize("case", which, ids=[f"{k}-{case.id}" for k, case in enumerate(which)])


def needed(case):
    for module in NEEDS.get(case.reader, ()):
        pytest.importorskip(module)


def one_sentence(text):
    assert "\n" not in text
    assert len(text) < 800, text
    return text


# ---------------------------------------------------------------- the readers


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{k}-{case.id}" for k, case in enumerate(CASES)])
def test_the_reader_refuses_in_one_sentence(number):
    case = CASES[number]
    needed(case)
    said = one_sentence(broken_files.message(number))
    for part in case.says:
        assert part in said
    if not any(words in said for words in WITHOUT_A_NAME):
        assert case.name in said


def test_the_files_are_many_and_distinct():
    plain = [case for case in CASES if case.reader not in ("Parquet", "model")]
    distinct = {(case.name, case.words(), str(case.options), case.says) for case in plain}
    assert len(distinct) > 250


def test_the_page_lists_them_as_they_are():
    for modules in NEEDS.values():
        for module in modules:
            pytest.importorskip(module)
    assert PAGE.read_text(encoding="utf-8") == broken_files.page()


def test_a_wrong_split_or_target(tmp_path):
    for loader in (load_japanese_vowels, load_spoken_arabic_digits):
        with pytest.raises(DatasetError, match=r"^split is 'train' or 'test', not 'valid'$"):
            loader(tmp_path, "valid")
    with pytest.raises(DatasetError, match="target is"):
        load_spoken_arabic_digits(tmp_path, "train", "age")


def test_messages_stay_short(tmp_path):
    (tmp_path / "a.xml").write_text(XML)
    text = f"@relation r\n@attribute {'a' * 10**5} {{{'v' * 10**5}}}\n@attribute p {{0,1}}\n@data\n{'w' * 10**5},0\n"
    (tmp_path / "a.arff").write_text(text)
    with pytest.raises(DatasetError) as caught:
        load(tmp_path / "a.arff")
    assert len(one_sentence(str(caught.value))) < 600


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.npz").mkdir()
    with pytest.raises(DatasetError, match="is a folder"):
        load(tmp_path / "a.npz")


# ---------------------------------------------------------------- the command line


def given(case):
    """The options of a data file as the command line takes them."""
    words = []
    for name, value in case.options.items():
        words += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value)]
    return words


@pytest.fixture
def model(tmp_path):
    pytest.importorskip("skops")
    path = tmp_path / "good.skops"
    path.write_bytes(models.good())
    return path


@broken(DATA[::4])
@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_commands_refuse_broken_data(tmp_path, monkeypatch, model, case, command):
    needed(case)
    if command == "predict" and "has neither Y nor y" in case.says:
        return  # labels are not needed
    monkeypatch.chdir(tmp_path)
    data = case.put(Path()) if case.reader != "XML" else case.put(Path()).with_suffix(".arff")
    arguments = [data, *given(case), "--model", "new.skops"] if command == "train" else [model, data, *given(case)]
    said = complaint(command, *arguments)
    assert data.stem in said or "--" in said
    assert not Path("new.skops").exists()


@broken(TABLES)
def test_decompose_refuses_broken_tables(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    options = ["--general"] if case.options else []
    assert case.says[-1] in complaint("decompose", "--table", case.put(Path()), *options)


@broken(MODELS)
def test_predict_refuses_broken_models(tmp_path, monkeypatch, case):
    needed(case)
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=np.ones((3, 2)), Y=np.eye(3))
    assert case.says[-1] in complaint("predict", case.put(Path()), "data.npz")


@broken(CHECKPOINTS)
def test_train_refuses_broken_checkpoints(tmp_path, monkeypatch, case):
    pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=np.eye(3, 2), Y=np.eye(3))
    said = complaint("train", "data.npz", "--model", "new.skops", "--checkpoint", case.put(Path()))
    assert case.says[-1] in said


@pytest.mark.parametrize(
    "knots", ["", "0", "0:0", "0:0,1:x", "0:0,1:nan", "0:0,1/0:1", "0:1,1:1", "1:0,0:1", "0:0,1:1_0", "0:0," * 9000]
)
def test_broken_knots(knots):
    assert len(complaint("decompose", "--size", 5, "--knots", knots)) < 800


def test_a_process_of_its_own_ends_with_code_2_and_without_traceback(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    Path("a.svm").write_text("1 1:1\n")
    Path("m.skops").write_bytes(models.good()[:-40])
    code, out, err = ended("setloss.cli", "predict", "m.skops", "a.svm")
    assert (code, out) == (2, "")
    assert err.startswith("setloss: ")
    assert err.count("\n") == 1


def test_a_model_as_it_should_be_is_read(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=np.ones((3, 2)), Y=np.eye(3))
    result = CliRunner().invoke(app, ["evaluate", str(model), "data.npz", "--json"])
    assert json.loads(result.stdout)["sets"] == 3
