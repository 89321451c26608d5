"""What several files say of the project is the same in each of them."""

import re
import tomllib
from pathlib import Path

import setloss

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_the_version_is_one_version():
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    recipe = re.search(r'^  version: "(.+)"$', RECIPE, re.MULTILINE)
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation
    assert recipe
    assert newest
    assert {citation[1], recipe[1], newest[1]} == {setloss.__version__}


def bounds_of_recipe(lines):
    """Requirements without spaces, by the names that the packages have on PyPI."""
    names = {"matplotlib-base": "matplotlib", "pytorch": "torch"}
    found = [re.fullmatch(r"    - (\S+) (>=.+)", line) for line in lines.splitlines()]
    return {names.get(line[1], line[1]) + line[2].replace(" ", "") for line in found if line}


def bounds_of_project(requirements):
    """Those for every Python; conda has no builds of an old version for a new Python, so it needs no others."""
    return {re.sub(r"\[.*\]|;.*", "", line) for line in requirements if "python_version >=" not in line}


def test_the_conda_recipe_has_the_bounds_of_the_project():
    needed, others = RECIPE.partition("  run:\n")[2].partition("\ntests:")[0].split("  run_constraints:")
    assert bounds_of_recipe(needed) - {"python>=${{python_min}}"} == bounds_of_project(PROJECT["dependencies"])
    extras = {line for name, lines in PROJECT["optional-dependencies"].items() if name != "all" for line in lines}
    assert bounds_of_recipe(others) == bounds_of_project(extras)
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE
