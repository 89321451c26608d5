"""Two processes with gloo on one machine: sets of one process each, and sets that span both.

Both processes are started once; the tests compare what they report with one process that has all the data.
"""

from dataclasses import fields

import pytest
import torch

from helpers.children import printed
from helpers.ranks import LOSSES, SIZES, data, ignoring, network, step
from setloss import CostCurve
from setloss.nn import SetLoss, set_loss

CURVE = CostCurve([(0, 0), (0.37, 0.1), (1, 1)])


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gloo")
    torch.save(SetLoss(CURVE, "bd"), folder / "module.pt")
    printed("import runpy; runpy.run_module('helpers.ranks', run_name='__main__')", folder, GLOO_SOCKET_IFNAME="lo")
    return [torch.load(folder / f"{rank}.pt") for rank in (0, 1)]


def alone(name, kind):
    """One process with all the data."""
    inputs, target = data(SIZES[kind])
    settings = LOSSES[name].settings
    options = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return step(network(), SetLoss(**options | {"sync": False}), inputs, ignoring(name, target))


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("kind", list(SIZES))
def test_sets_over_all_processes_are_those_of_one_process(reports, kind, name):
    value, gradients = alone(name, kind)
    for report in reports:
        got = report[kind, name]
        assert torch.equal(got[0], reports[0][kind, name][0])
        torch.testing.assert_close(got[0], value, rtol=1e-12, atol=1e-14)
        for parameter, expected in zip(got[1], gradients, strict=True):
            torch.testing.assert_close(parameter, expected, rtol=1e-12, atol=1e-14)
    assert sum(gradient.abs().sum() for gradient in gradients) > 0


def test_sets_over_images_need_nothing(reports):
    """The average of the gradients of equally large batches is the gradient of the mean over all images."""
    inputs, target = data(SIZES["even"])
    value, gradients = step(network(), SetLoss("dice", "bd"), inputs, target)
    torch.testing.assert_close(sum(report["even", "images"][0] for report in reports) / 2, value)
    for report in reports:
        for parameter, expected in zip(report["even", "images"][1], gradients, strict=True):
            torch.testing.assert_close(parameter, expected, rtol=1e-12, atol=1e-14)


def test_a_module_made_in_one_process_works_in_another(reports):
    scores = torch.linspace(-1, 1, 12, dtype=torch.float64).view(2, 6)
    expected = set_loss(scores, scores > 0.3, loss=CURVE, operator="bd")
    assert all(torch.equal(report["sent"], expected) for report in reports)
