"""The list of types that a model file may build: whole as to ours, and nothing that runs code as to others."""

import gc
import importlib
import json
import pkgutil
import zipfile
from contextlib import suppress
from inspect import getattr_static, isabstract, isfunction
from io import BytesIO

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import setloss
from helpers.children import printed
from helpers.forged import change, text
from setloss import SetFunction, from_set_function
from setloss.io.models import CODE, OWN, TRUSTED, ModelFileError, _is_trusted, _untrusted, load, save
from setloss.losses import Loss
from setloss.losses.custom import CallableLoss, MetricLoss

UNSAVED = ("cli", "dask", "nn", "plots", "testing", "explore")
"""Parts of setloss whose objects no model file holds; `to_local` of a Dask estimator gives what is saved."""

HOOKS = ("__setstate__", "__del__", "__getattr__", "__getattribute__", "__setattr__", "__new__", "__reduce__")


def own_types():
    """Every class that a module of ours defines."""
    for found in pkgutil.walk_packages(setloss.__path__, "setloss."):
        if found.name.split(".")[1] not in UNSAVED:
            for value in vars(importlib.import_module(found.name)).values():
                if isinstance(value, type) and value.__module__ == found.name:
                    yield value


def test_every_estimator_and_loss_of_ours_is_on_the_list():
    kinds = [kind for kind in own_types() if issubclass(kind, (BaseEstimator, Loss)) and not isabstract(kind)]
    bases = {base for kind in kinds for base in kind.__mro__[1:]}
    for kind in set(kinds) - bases - {CallableLoss, MetricLoss}:  # which hold functions, and those are not saved
        name = f"{kind.__module__}.{kind.__name__}"
        assert name in TRUSTED, f"{name} is missing in OWN of setloss.io.models"


def test_what_is_on_the_list_is_ours_and_runs_nothing_when_it_is_built():
    ours = {f"{kind.__module__}.{kind.__name__}": kind for kind in own_types()}
    for module, names in OWN.items():
        for name in names:
            kind = ours[f"setloss.{module}.{name}"]  # of that name and in that place
            for hook in HOOKS:
                defined = getattr_static(kind, hook, None)
                written = isfunction(defined) and defined.__code__.co_filename.endswith(".py")  # not by dataclass
                assert not written or not defined.__module__.startswith("setloss"), f"{name}.{hook}"


def test_a_loss_by_a_table_is_made_of_types_on_the_list():
    from skops.io import dumps

    values = np.array([[0, 0.5], [0.5, 1.0]])
    for name, loaders in _untrusted(dumps(from_set_function(SetFunction.from_table(values)))).items():
        assert loaders & CODE or _is_trusted(name, loaders, ()), name


WALK = """
import importlib, json, pkgutil, sys, warnings
warnings.simplefilter("ignore")
hooks = ("__setstate__", "__del__", "__getattr__", "__getattribute__", "__setattr__")
skipped = ("tests", "conftest", "setup", "f2py", "distutils", "testing", "_pyinstaller", "_pytesttester", "externals")
found = {}
for package in ("numpy", "scipy", "sklearn"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + ".", lambda name: None):
        if set(module.name.split(".")) & set(skipped):
            continue
        try:
            home = importlib.import_module(module.name)
        except Exception:
            continue
for name, home in list(sys.modules.items()):
    if name.partition(".")[0] in ("numpy", "scipy", "sklearn"):
        for attribute, kind in list(vars(home).items()):
            if isinstance(kind, type):
                found[name + "." + attribute] = [
                    f"{base.__module__}.{base.__qualname__}.{hook}" for hook in hooks for base in kind.__mro__[:-1]
                    if hook in vars(base)
                ]
print(json.dumps(found))
"""

REVIEWED = {
    "sklearn.base.BaseEstimator.__setstate__",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor.__setstate__",
    "sklearn.frozen._frozen.FrozenEstimator.__getattr__",
    "sklearn.isotonic.IsotonicRegression.__setstate__",
    "sklearn.metrics._dist_metrics.DistanceMetric.__setstate__",
    "sklearn.metrics._dist_metrics.DistanceMetric64.__setstate__",
    "sklearn.neighbors._ball_tree.BinaryTree64.__setstate__",
    "sklearn.neighbors._kd_tree.BinaryTree64.__setstate__",
}
"""Hooks that were read in scikit-learn 1.9: they set attributes, call no function of the file and touch no file.

Indices inside trees are not checked by them, as SECURITY.md says.
"""


@pytest.fixture(scope="module")
def others():
    """Every class of NumPy, SciPy and scikit-learn by every name that it goes by, and its hooks that are code."""
    found = json.loads(printed(WALK).splitlines()[-1])
    assert len(found) > 3000
    return found


def refused(names):
    """Those that `load` refuses, of types that stand in a file as objects."""
    nodes = [
        {"__class__": name.rpartition(".")[2], "__module__": name.rpartition(".")[0], "__loader__": "ObjectNode"}
        for name in names
    ]
    schema = {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": nodes,
        "protocol": 2,
    }
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    return {name for name, loaders in _untrusted(file.getvalue()).items() if not _is_trusted(name, loaders, ())}


def test_no_type_of_others_that_runs_code_when_it_is_built_gets_through(others):
    built = set(others) - refused(others)
    assert {
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.tree._classes.DecisionTreeClassifier",
    } <= built
    assert len(built) < 400
    assert {name.partition(".")[0] for name in built} == {"sklearn"}
    assert {hook for name in built for hook in others[name]} <= REVIEWED
    for name in ("scipy.stats._distn_infrastructure.rv_continuous", "numpy.lib.npyio.DataSource"):
        assert others[name]
        assert name not in built


def forged(path, **node):
    """A file whose first parameter is another node."""
    save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), path)
    change(path, lambda schema: schema["content"]["content"].update(tol=node))


def node(kind, loader, content=None, **more):
    """A node of a file, for a type or function by its name."""
    module, _, name = kind.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content} | more


def listed(*content, **more):
    return node("builtins.list", "ListNode", list(content), **more)


def table(keys="builtins.str", loader="TypeNode", **content):
    return node("builtins.dict", "DictNode", content, key_types=listed(*[node(keys, loader) for _ in content]))


SYSTEM = node("os.system", "FunctionNode")
WORDS = node("builtins.tuple", "TupleNode", [text("ran")])
MODEL = "sklearn.linear_model._logistic.LogisticRegression"
SCORE = {"func": "score", "obj": node(MODEL, "ObjectNode", table())}
PARTIAL = {"func": SYSTEM, "args": WORDS, "kwds": table(), "namespace": table()}
FACTORY = {"main": table(), "default_factory": node("os.system", "TypeNode")}
HOSTILE = {
    "a function in an array": node("numpy.ndarray", "NdArrayNode", [SYSTEM], type="json", shape=WORDS),
    "a function for keys": table("os.system", ran=text(1)),
    "a loss that is a function": node("os.system", "LossNode", table(), __reduce__={"args": WORDS}),
    "a loss of ours as one of others": node(
        "setloss.losses.counts_of_errors.Dice", "LossNode", table(), __reduce__={"args": WORDS}
    ),
    "a partial": node("functools.partial", "PartialNode", PARTIAL),
    "a partial by the name of a loss": node("setloss.losses.counts_of_errors.Dice", "PartialNode", PARTIAL),
    "a partial beside a loss of that name": listed(
        node("setloss.losses.counts_of_errors.Dice", "ObjectNode", table()),
        node("setloss.losses.counts_of_errors.Dice", "PartialNode", PARTIAL),
    ),
    "a method": node(MODEL, "MethodNode", SCORE),
    "a method by name": node("operator.methodcaller", "OperatorFuncNode", attrs=WORDS),
    "a factory": node("collections.defaultdict", "DefaultDictNode", FACTORY),
    "a file of bytes as an array": node("numpy.memmap", "NdArrayNode", [], type="json", shape=WORDS),
    "a generator by a function": node(
        "numpy.random._generator.Generator",
        "RandomGeneratorNode",
        {"bit_generator": table(bit_generator=text("seed")), "seed_seq": table()},
    ),
}


TARGETS = ["os.system", "builtins.eval", "numpy.testing.rundocs", "setloss.io.models.load"]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("loader", ["FunctionNode", "ConstructorFromReduceNode", "ListNode", "SetNode", "ObjectNode"])
def test_a_forged_node_calls_nothing(tmp_path, monkeypatch, name, loader):
    content = [text("ran")] if loader in ("ListNode", "SetNode") else listed(text("ran"))
    forged(path := tmp_path / "model.skops", **node(name, loader, content))
    ran = []
    monkeypatch.setattr(name, lambda *words: ran.append(words))
    with pytest.raises(ModelFileError):
        load(path)
    assert not ran


@pytest.mark.parametrize("kind", ["setloss.cli.progress.Progress", "setloss.estimators.bag_classifier.BagClassifier"])
def test_a_type_that_is_not_ours_or_no_longer_there_asks_for_training_anew(tmp_path, kind):
    forged(path := tmp_path / "model.skops", **node(kind, "ObjectNode"))
    with pytest.raises(ModelFileError, match="another version of setloss; train the model anew"):
        load(path)


def test_a_distribution_whose_state_is_code_is_not_built(tmp_path):
    """`rv_continuous.__setstate__` executes its template; the file used to be loaded."""
    code = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()"
    words = {"_parse_arg_template": code, "a": 0, "b": 1, "badvalue": 0, "name": "x", "shapes": None}
    kind = "scipy.stats._distn_infrastructure.rv_continuous"
    content = table(**{name: text(value) for name, value in words.items()})
    forged(path := tmp_path / "model.skops", **node(kind, "ObjectNode", content))
    with pytest.raises(ModelFileError, match=r"rv_continuous, which is not trusted"):
        load(path)
    assert not (tmp_path / "ran").exists()
    with suppress(ModelFileError):  # the forgery is a good one
        load(path, trusted=[kind])
    assert (tmp_path / "ran").exists()


def test_a_source_of_data_that_deletes_its_folder_is_not_built(tmp_path):
    """`DataSource.__del__` removes the folder that the file names."""
    (folder := tmp_path / "precious").mkdir()
    kind = f"{np.lib.npyio.DataSource.__module__}.DataSource"
    content = table(_istmpdest=text(True), _destpath=text(str(folder)))
    forged(path := tmp_path / "model.skops", **node(kind, "ObjectNode", content))
    with pytest.raises(ModelFileError, match=r"DataSource, which is not trusted"):
        load(path)
    gc.collect()
    assert folder.exists()
    load(path, trusted=[kind])  # the forgery is a good one
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_parts_are_not_trusted(tmp_path, monkeypatch, name):
    ran = []
    monkeypatch.setattr("os.system", lambda *words: ran.append(words))
    forged(path := tmp_path / "model.skops", **HOSTILE[name])
    with pytest.raises(ModelFileError, match=r"which is not trusted|another version of setloss"):
        load(path)
    assert not ran


def test_a_short_file_that_stands_for_a_tree_without_end_is_refused(tmp_path):
    """Each list holds the one before twice, the second time by its number alone; of 60 lists `load` never ended."""
    inner = listed(__id__=1000)
    for number in range(1001, 1016):
        inner = listed(inner, inner | {"content": []}, __id__=number)
    forged(path := tmp_path / "model.skops", **inner)
    with pytest.raises(ModelFileError, match="two of its parts have the same id"):
        load(path)


def generator(**pool):
    seeds = {"bit_generator": table(bit_generator=text("PCG64")), "seed_seq": table(**pool)}
    return node("numpy.random._generator.Generator", "RandomGeneratorNode", seeds)


def test_a_generator_that_takes_hours_to_seed_is_refused(tmp_path):
    forged(path := tmp_path / "model.skops", **generator(pool_size=text(10**4)))
    with pytest.raises(ModelFileError, match="a pool that is not NumPy's"):
        load(path)
    large, small = (text(size) | {"__id__": 1000} for size in (10**4, 4))  # of which skops would take the first
    forged(path, **listed(large, generator(pool_size=small)))
    with pytest.raises(ModelFileError, match="two of its parts have the same id"):
        load(path)


def test_parts_that_recur_in_full_are_no_forgery(tmp_path):
    twice = listed(text(1), __id__=1000)
    forged(path := tmp_path / "model.skops", **listed(twice, twice))
    first, second = load(path).tol
    assert first is second
