"""Label matrices as people have them: taken, or refused with a sentence that names the fix."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.estimator_data import label_data
from setloss.estimators import SetClassifier

pd = pytest.importorskip("pandas")


def fitted(Y):
    X, _ = label_data()
    return SetClassifier().fit(X, Y)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(object),
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(np.float32),
        csr_array,
        pd.DataFrame,
        lambda Y: pd.DataFrame(Y).astype("Int64"),
        lambda Y: pd.DataFrame(Y).astype("boolean"),
    ],
    ids=["lists", "objects", "bool", "float32", "sparse", "frame", "Int64", "boolean"],
)
def test_other_spellings_of_the_same_labels_give_the_same_model(spelled):
    X, Y = label_data()
    model = fitted(spelled(Y))
    np.testing.assert_array_equal(model.coef_, fitted(Y).coef_)
    assert model.score(X, spelled(Y)) == fitted(Y).score(X, Y)
    assert model.predict(X).dtype.kind == "i"


def test_labels_of_minus_one_and_one_are_answered_in_kind():
    X, Y = label_data()
    model = fitted(2 * Y - 1)
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    np.testing.assert_array_equal(model.predict(X), 2 * fitted(Y).predict(X) - 1)
    assert model.score(X, 2 * Y - 1) == fitted(Y).score(X, Y)


def test_missing_labels_may_be_nan_none_or_na():
    _, Y = label_data()
    gaps = Y.astype(float)
    gaps[::7, 1] = np.nan
    table = pd.DataFrame(Y).astype("Int64")
    table.iloc[::7, 1] = pd.NA
    objects = Y.astype(object)
    objects[::7, 1] = None
    for spelled in (table, objects):
        np.testing.assert_array_equal(fitted(spelled).coef_, fitted(gaps).coef_)


def test_names_of_labels_are_kept_and_checked():
    X, Y = label_data()
    names = [f"label {j}" for j in range(Y.shape[1])]
    table = pd.DataFrame(Y, columns=names)
    model = fitted(table)
    assert model.label_names_.tolist() == names
    predicted = pd.DataFrame(model.predict(X), columns=model.label_names_)
    assert model.score(X, predicted) == 1
    with pytest.raises(ValueError, match=r"pass y\[model.label_names_\]"):
        model.score(X, table[names[::-1]])
    assert not hasattr(model.fit(X, Y), "label_names_")


def test_a_generator_is_a_random_state():
    X, Y = label_data()
    first, second = (SetClassifier(random_state=np.random.default_rng(3)).fit(X, Y).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_verbose_shows_the_iterations_on_standard_output(capsys, caplog):
    caplog.set_level("WARNING", logger="setloss")
    X, Y = label_data()
    model = SetClassifier(verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("iteration ")
    assert "gap" in lines[0]
    assert lines[-1] == f"converged after {model.n_iter_} iterations: gap {model.dual_gap_:.2e}"
