"""Labels in every form that people have them, one to 33,000 of them: the same model, and int64 out again."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array

from helpers.estimator_data import label_data
from setloss.estimators import SetClassifier
from setloss.estimators.labels import labels_of

pd = pytest.importorskip("pandas")
X, Y = label_data()


def fitted(Y):
    return SetClassifier().fit(X, Y)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(object),
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(np.float32),
        lambda Y: Y.astype(np.int8),
        lambda Y: Y.astype(np.uint8),
        lambda Y: np.asfortranarray(Y),
        lambda Y: np.ma.masked_array(Y, False),
        csr_array,
        csc_matrix,
        lambda Y: coo_array(Y.astype(np.int8)),
        pd.DataFrame,
        lambda Y: pd.DataFrame(Y).astype("Int64"),
        lambda Y: pd.DataFrame(Y).astype("boolean"),
    ],
)
def test_other_spellings_of_the_same_labels_give_the_same_model(spelled):
    model = fitted(spelled(Y))
    np.testing.assert_array_equal(model.coef_, fitted(Y).coef_)
    assert model.score(X, spelled(Y)) == fitted(Y).score(X, Y)
    assert model.predict(X).dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_whole_numbers_become_int64(dtype):
    """scikit-learn numbers columns in the type of y, and int8 ends at 127."""
    flat = SetClassifier().fit(X, Y[:, 0].astype(dtype), groups=np.arange(len(X)))
    bags = SetClassifier().fit(X, Y[:, 0].astype(dtype), groups=np.arange(len(X)) // 3)
    for model in (flat, bags):
        assert model.classes_.dtype == model.predict(X).dtype == np.int64
    assert labels_of(Y.astype(dtype), "test").numbers.dtype == np.int32
    large = np.where(Y[:, 0], np.uint64(2**63), np.uint64(7))
    assert labels_of(large, "test").labels.classes.tolist() == [7, 2**63]


@pytest.mark.parametrize("sparse", [np.asarray, csr_array])
def test_labels_of_minus_one_and_one_are_answered_in_kind(sparse):
    model = fitted(sparse(2 * Y - 1))
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    np.testing.assert_array_equal(model.predict(X), 2 * fitted(Y).predict(X) - 1)
    assert model.score(X, sparse(2 * Y - 1)) == fitted(Y).score(X, Y)


def test_missing_labels_may_be_nan_none_or_na_and_stored_in_sparse_matrices():
    gaps = Y.astype(float)
    gaps[::7, 1] = np.nan
    table = pd.DataFrame(Y).astype("Int64")
    table.iloc[::7, 1] = pd.NA
    objects = Y.astype(object)
    objects[::7, 1] = None
    for spelled in (table, objects, csr_array(gaps), gaps.astype(np.float32)):
        np.testing.assert_array_equal(fitted(spelled).coef_, fitted(gaps).coef_)
        assert fitted(gaps).score(X, spelled) == fitted(gaps).score(X, gaps)
    kept = np.arange(len(X)) % 7 > 0  # a single label, of which some are missing
    np.testing.assert_allclose(
        SetClassifier(tol=1e-6).fit(X, gaps[:, 1:2]).coef_, SetClassifier(tol=1e-6).fit(X[kept], Y[kept, 1:2]).coef_
    )


def test_one_label_as_a_vector_or_as_a_column_is_the_same_problem():
    flat = SetClassifier().fit(X, Y[:, 0], groups=np.arange(len(X)))
    column = fitted(Y[:, :1])
    np.testing.assert_array_equal(flat.coef_, column.coef_)
    assert flat.predict(X).shape == flat.decision_function(X).shape == (len(X),)
    assert column.predict(X).shape == (len(X), 1)
    assert flat.score(X, Y[:, 0], groups=np.arange(len(X))) == column.score(X, Y[:, :1])


def test_a_single_label_may_have_any_two_names():
    with pytest.warns(UserWarning, match="positive class is 'spam'.*y == 'ham'"):
        model = SetClassifier().fit(X, np.where(Y[:, 0], "spam", "ham"), groups=np.arange(len(X)))
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(model.predict(X) == "spam", fitted(Y[:, :1]).predict(X)[:, 0] == 1)


def test_names_of_labels_are_kept_and_checked():
    names = [f"label {j}" for j in range(Y.shape[1])]
    table = pd.DataFrame(Y, columns=names)
    model = fitted(table)
    assert model.label_names_.tolist() == names
    assert model.score(X, pd.DataFrame(model.predict(X), columns=model.label_names_)) == 1
    with pytest.raises(ValueError, match="label_names_"):
        model.score(X, table[names[::-1]])
    assert not hasattr(model.fit(X, Y), "label_names_")


# ---------------------------------------------------------------- many labels


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_more_labels_than_int8_has_numbers(form):
    """Labels that are signs of features: every one of them is learned."""
    X, p = np.random.default_rng(0).normal(size=(30, 2)), 129
    Y = (X[:, np.arange(p) % 2] > 0).astype(np.int8)
    model = SetClassifier("hamming", "hinge", C=1.0, tol=0.1).fit(X, form(Y))
    assert model.coef_.shape == (p, 2)
    assert np.all(np.mean(model.predict(X) == Y, axis=0) > 0.8)
    assert model.score(X, form(Y)) == model.score(X, Y.astype(int))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_33000_sparse_labels_take_one_byte_each():
    n, p = 4, 33_000
    rows, columns = np.repeat(np.arange(n), 3), (np.arange(3 * n) * 11_003) % p
    Y = csr_array((np.ones(3 * n, dtype=np.int8), (rows, columns)), shape=(n, p))
    labels = labels_of(Y, "test")
    np.testing.assert_array_equal(np.nonzero(labels.positive), Y.toarray().nonzero())
    assert labels.known.strides == (0, 0)  # none of its own
    model = SetClassifier("hamming", "hinge", max_iter=2, solver="cutting_plane").fit(np.eye(n), Y)
    model.coef_, model.intercept_ = Y.toarray().T - 0.5, np.zeros(p)
    assert model.predict(np.eye(n)).dtype == np.int64
    np.testing.assert_array_equal(model.predict(np.eye(n)), Y.toarray())
    assert model.score(np.eye(n), Y) == 1
    truth, _ = labels.labels.truth(Y, n)
    np.testing.assert_array_equal(truth, labels.positive)


@pytest.mark.parametrize(
    ("y", "line"),
    [
        (np.array(["oil; gas", "gas", "", "oil", "coal"]), "y.replace('', None).str.get_dummies(';')"),
        (np.array(["oil", "gas", "coal", "oil", "gas"]), "pandas.get_dummies(y)"),
        ([{"oil", "gas"}, {"gas"}, set(), {"oil"}, {"coal"}], "MultiLabelBinarizer().fit_transform(y)"),
        ([["oil", "gas"], ["gas"], [], ["oil"], ["coal"]], "MultiLabelBinarizer().fit_transform(y)"),
        ([["oil", "gas"], ["gas", "x"], ["oil", "x"], ["oil", "gas"], ["coal", "x"]], "MultiLabelBinarizer()"),
    ],
)
def test_labels_of_one_cell_come_with_the_line_that_makes_columns_of_them(y, line):
    with pytest.raises(ValueError, match=r"[Yy] ") as caught:
        labels_of(y, "test")
    assert line in str(caught.value)


def test_empty_cells_are_sets_without_labels_and_no_label_of_their_own():
    """As pandas 3 would have it."""
    with pytest.raises(ValueError, match="a label has no name"):
        labels_of(pd.DataFrame(Y, columns=["oil", "", "gas"]), "test")
    made = pd.Series(["oil;gas", "", None, "gas"]).replace("", None).str.get_dummies(";")
    assert labels_of(made, "test").labels.names.tolist() == ["gas", "oil"]
