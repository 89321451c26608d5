"""docs/limits.md names the constants of the code with their values, and says what happens on either side of them."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from setloss import SetFunction, decompose, from_counts, is_submodular, is_supermodular, verify_decomposition
from setloss.decomposition.certificate import ProgramTooLargeError
from setloss.decomposition.program import refuse_if_too_large
from setloss.operators import SlackRescaling
from setloss.setfunctions.counts import TableTooLargeError
from setloss.testing import check_set_function

PAGE = (Path(__file__).parent.parent / "docs" / "limits.md").read_text(encoding="utf-8")
STATED = re.findall(r"`(setloss(?:\.\w+)+)\.([A-Z_]+)` = ([\d_e^]+)", PAGE)


def number(text: str) -> float:
    base, _, exponent = text.partition("^")
    return int(base) ** int(exponent) if exponent else float(text)


@pytest.mark.parametrize(("module", "name", "value"), STATED, ids=[f"{module}.{name}" for module, name, _ in STATED])
def test_a_stated_limit_is_that_of_the_code(module, name, value):
    if module.startswith("setloss.nn"):
        pytest.importorskip("torch")
    assert getattr(importlib.import_module(module), name) == number(value)


@pytest.mark.parametrize(("last", "beyond"), [((51, 51), (55, 55)), ((2,) * 13, (2,) * 14), ((401,), (402,))])
def test_the_linear_program_takes_tables_up_to_its_limit(last, beyond):
    refuse_if_too_large(last)
    with pytest.raises(ProgramTooLargeError, match="linear program"):
        refuse_if_too_large(beyond)


def test_a_table_beyond_the_program_has_its_decomposition_where_the_lower_bound_is_feasible():
    function = from_counts(lambda fn, fp, positives, negatives: np.sqrt(fn + fp)).on_counts(80, 80)
    assert decompose(function).certificate.rule == "pointwise lower bound"


def test_beyond_the_program_decompose_refuses_before_the_work_and_optimality_is_left_open():
    table = np.random.default_rng(0).random((70, 70))
    table[0, 0] = 0
    loss = SetFunction.from_table(table)
    with pytest.raises(ProgramTooLargeError, match="verify_decomposition"):
        decompose(loss)
    size = np.add.outer(np.arange(70.0), np.arange(70.0))
    assert verify_decomposition(loss, 4 * size * (size - 1)).optimal is None


def test_a_formula_over_counts_is_tabulated_up_to_4095_and_4095():
    own = from_counts(lambda fn, fp, positives, negatives: (fn > 0) + 0.1 * fp)
    assert own.on_counts(4095, 4095).counts.cells == 2**24
    with pytest.raises(TableTooLargeError, match="too large"):
        SlackRescaling(own.on_counts(4096, 4095))
    with pytest.raises(TableTooLargeError, match="the limit is 16777216"):
        _ = own.on_counts(4096, 4095).table


def test_the_checkers_end_at_12_elements():
    check_set_function(SetFunction.symmetric(np.arange(13.0)))
    with pytest.raises(ValueError, match="p <= 12"):
        check_set_function(SetFunction.symmetric(np.arange(14.0)))


def test_verdicts_beyond_the_table_rest_on_the_corners():
    function = from_counts(lambda fn, fp, positives, negatives: np.sqrt(fn) * (fp + 1.0)).on_counts(5000, 5000)
    assert not is_submodular(function)
    assert not is_supermodular(function)
    with pytest.raises(TableTooLargeError):
        is_submodular(from_counts(lambda fn, fp, positives, negatives: fn + fp).on_counts(5000, 5000))


def test_a_table_too_large_to_decompose_is_refused_before_memory_is_spent():
    values = np.zeros((2,) * 21)
    values.flat[-1] = 1.0
    with pytest.raises(TableTooLargeError, match=r"GiB, and the limit is 2; use fewer elements"):
        decompose(SetFunction.from_values(values))
