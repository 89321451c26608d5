"""Small label sets: empty ones, a label that no example has, and folders of files of them."""

import numpy as np
from scipy.sparse import csr_array

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


def write_arff(folder, data, name="small"):
    """The data set in Mulan's layout: sparse ARFF if it is sparse, and one nominal attribute more."""
    folder.mkdir()
    d, p = data.X.shape[1], data.Y.shape[1]
    labels = "".join(f'<label name="l{j}"/>' for j in range(p))
    (folder / f"{name}.xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>')
    head = [f"@relation {name}", *(f"@attribute f{j} numeric" for j in range(d)), "@attribute colour {red,green}"]
    head += [*(f"@attribute l{j} {{0,1}}" for j in range(p)), "@data"]
    rows = list(range(data.Y.shape[0]))
    for part, chosen in (("train", rows[: data.n_train]), ("test", rows[data.n_train :])):
        lines = [_line(data, i) for i in chosen]
        (folder / f"{name}-{part}.arff").write_text("\n".join(head + lines) + "\n")


def _line(data, i):
    colour = "red" if i % 3 else "green"
    if isinstance(data.X, np.ndarray):
        return ",".join([*map(str, data.X[i]), colour, *map(str, data.Y[i])])
    d = data.X.shape[1]
    row = data.X[[i]].toarray()[0]
    cells = [f"{j} {value}" for j, value in enumerate(row) if value] + ([f"{d} green"] if colour == "green" else [])
    cells += [f"{d + 1 + j} 1" for j in np.flatnonzero(data.Y[i])]
    return "{" + ", ".join(cells) + "}"
