"""Small label sets: empty ones, a label that no example has, and folders of files of them."""

import arff
import numpy as np
from scipy.sparse import csr_array, issparse

from experiments.loaders import DataSet


def small(n=60, seed=0, sparse=False, n_train=40):
    """Five features, four labels: the first two follow the features, the third is rare, the last never true."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 5)).round(3)
    X = np.where(np.abs(X) < 0.5, 0, X) if sparse else X
    Y = np.zeros((n, 4), dtype=np.int8)
    Y[:, :2] = X[:, :2] + 0.5 * generator.normal(size=(n, 2)) > 0.3
    Y[generator.choice(n_train, 3, replace=False), 2] = 1
    return DataSet("small", csr_array(X) if sparse else X, Y, n_train)


def write_arff(folder, data):
    """The data set in Mulan's layout: sparse ARFF if it is sparse, and one nominal attribute more."""
    folder.mkdir()
    labels = [f"l{j}" for j in range(data.Y.shape[1])]
    named = "".join(f'<label name="{label}"/>' for label in labels)
    (folder / "small.xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{named}</labels>')
    attributes = [(f"f{j}", "NUMERIC") for j in range(data.X.shape[1])] + [("colour", ["red", "green"])]
    attributes += [(label, ["0", "1"]) for label in labels]
    dense = data.X.toarray() if issparse(data.X) else data.X
    colours = np.where(np.arange(len(dense)) % 3, "red", "green")
    rows = [[*x, colour, *map(str, y)] for x, colour, y in zip(dense, colours, data.Y, strict=True)]
    if issparse(data.X):
        rows = [{j: cell for j, cell in enumerate(row) if cell not in (0, "red", "0")} for row in rows]
    for part, chosen in (("train", rows[: data.n_train]), ("test", rows[data.n_train :])):
        content = {"relation": "small", "attributes": attributes, "data": chosen}
        (folder / f"small-{part}.arff").write_text(arff.dumps(content))
