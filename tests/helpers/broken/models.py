"""Broken model files: damaged, of other content, with bombs, or with types that are not ours."""

import io
import json
import zipfile
from functools import cache

import numpy as np

from helpers.broken.case import Case, Made, archive, member, promising, shaped


@cache
def good():
    """The file of a small model, which is put together by hand and not trained."""
    from tempfile import TemporaryDirectory

    from setloss.estimators import SetClassifier, save

    model = SetClassifier()
    model.coef_, model.intercept_, model.classes_ = np.ones((3, 2)), np.zeros(3), np.array([0, 1])
    model.n_features_in_, model.n_iter_, model.dual_gap_ = 2, 5, 1e-4
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    with TemporaryDirectory() as folder:
        save(model, f"{folder}/good.skops")
        with open(f"{folder}/good.skops", "rb") as file:  # noqa: PTH123 (bytes of a file that goes away)
            return file.read()


def altered(**changes):
    """The maker of a model with header fields or arrays replaced; None removes an array."""

    def make():
        from skops.io import dumps, loads

        content = loads(good(), trusted=[])
        head = json.loads(content["header"])
        arrays = {name: changes[name] for name in changes if name in content}
        fields = {name: value for name, value in changes.items() if name not in content}
        changed = {k: v for k, v in (content | arrays).items() if v is not None}
        what = ", ".join(f"{k} = {str(v)[:40]}" for k, v in changes.items())
        return Made(dumps(changed | {"header": json.dumps(head | fields)}), " ".join(what.split()))

    return make


def parameters(**changes):
    def make():
        from skops.io import loads

        known = json.loads(loads(good(), trusted=[])["header"])["parameters"]
        return altered(parameters=known | changes)()

    return make


def schema(change, words):
    """The maker of a model with another schema.json."""

    def make():
        stream, old = io.BytesIO(), zipfile.ZipFile(io.BytesIO(good()))
        with zipfile.ZipFile(stream, "w") as new:
            for name in old.namelist():
                text = old.read(name)
                new.writestr(name, change(text.decode()) if name == "schema.json" else text)
        return Made(stream.getvalue(), words)

    return make


def importing(text):
    tree = json.loads(text)
    tree["content"]["coef"] |= {"__module__": "antigravity", "__class__": "fly"}
    return json.dumps(tree)


def function_node(text):
    tree = json.loads(text)
    tree["content"]["coef"] = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "content": ""}
    return json.dumps(tree)


def bomb():
    return promising(good(), "schema.json", 2**30, "a schema that promises a gigabyte")


def huge():
    return member(good(), shaped("(3, 1000000000000)"), "more.npy", "an array that promises 24 TB")


def nested():
    stream, old = io.BytesIO(), zipfile.ZipFile(io.BytesIO(good()))
    with zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, good() if name.endswith(".npy") else old.read(name))
    return Made(stream.getvalue(), "a model file in the place of every array")


NOT_OURS = "is not a setloss model, or it is damaged"
FOREIGN = "holds types that are not part of a setloss model; it is not loaded"

ROWS = [
    (None, "there is no model file"),
    ("", NOT_OURS),
    ("junk", NOT_OURS),
    (lambda: Made(good()[:-40], "a model without its last 40 bytes"), NOT_OURS),
    (lambda: Made(good()[100:], "a model without its first 100 bytes"), NOT_OURS),
    (lambda: archive(X=np.ones(3)), NOT_OURS),
    (b"\x80\x04cos\nsystem\n", NOT_OURS),
    (lambda: Made(bytes(good()).replace(b"schema", b"scheme"), "no schema.json"), NOT_OURS),
    (schema(lambda text: text[:-5], "schema.json cut short"), NOT_OURS),
    (schema(lambda text: "[" * 100_000, "schema.json of 100000 brackets"), NOT_OURS),
    (schema(lambda text: text.replace("NdArrayNode", "NoSuchNode"), "a node of no kind"), FOREIGN),
    (schema(importing, "an array of a class in the module antigravity"), FOREIGN),
    (schema(function_node, "os.system"), FOREIGN),
    (bomb, "unpacks to 10737"),
    (huge, "has another length than its shape"),
    (nested, NOT_OURS),
    (altered(format="setloss-model-2", version="9.9"), "written by setloss 9.9"),
    (altered(kind="RandomForest"), NOT_OURS),
    (altered(loss="no such loss"), NOT_OURS),
    (altered(loss={"type": "CallableLoss", "fields": {}}), NOT_OURS),
    (altered(loss={"type": "Dice", "fields": {"beta": 1}}), NOT_OURS),
    (altered(loss={"type": "Tversky", "fields": {"alpha": "x"}}), NOT_OURS),
    (altered(loss={"type": "CostCurve", "fields": {"knots": [[0, 1], [1, 1]]}}), NOT_OURS),
    (altered(n_features_in=4), NOT_OURS),
    (altered(n_iter="many"), NOT_OURS),
    (altered(dual_gap=None), NOT_OURS),
    (altered(coef=np.zeros(2)), NOT_OURS),
    (altered(coef=np.full((3, 2), np.nan)), NOT_OURS),
    (altered(coef=np.ones((3, 2), dtype=int)), NOT_OURS),
    (altered(coef=np.full((3, 2), "a")), NOT_OURS),
    (altered(coef=None), NOT_OURS),
    (altered(intercept=np.zeros(4)), NOT_OURS),
    (altered(classes=np.array([0, 1, 2])), NOT_OURS),
    (altered(classes=np.array([1, 1])), "has the classes [1, 1]; they are two, in rising order"),
    (altered(classes=np.array([1, 0])), "has the classes [1, 0]; they are two, in rising order"),
    (altered(classes=np.array([0, np.nan])), "has the classes [0.0, nan]; they are two, in rising order"),
    (altered(parameters=[1, 2]), "has parameters that are no dictionary"),
    (altered(loss=7), "has the loss 7, which is not known"),
    (altered(kind=["SetClassifier"]), NOT_OURS),
    (
        schema(lambda text: "[" + "[]," * 500_000 + "[]]", "schema.json of 500001 empty lists"),
        "a schema.json of more than",
    ),
    (altered(feature_names=np.array(["a"])), NOT_OURS),
    (altered(feature_names=np.array([1, 2])), NOT_OURS),
    (parameters(C="large"), NOT_OURS),
    (parameters(C=-1.0), NOT_OURS),
    (parameters(operator="no such operator"), NOT_OURS),
    (parameters(operator=["bd"]), NOT_OURS),
    (parameters(unknown=1), "has the parameter 'unknown', which is not known"),
]

CASES = [Case("model", "m.skops", content, (says,)) for content, says in ROWS]
