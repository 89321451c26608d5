"""The surrogates in PyTorch: `SetLoss` and its functional twin, from label sets to megapixels."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'") from error

from setloss.nn.components import component_groups
from setloss.nn.count_loss import CountModelLoss, count_loss
from setloss.nn.decide import LabelDecisions, decide
from setloss.nn.functional import set_loss
from setloss.nn.hints import SetLossWarning
from setloss.nn.modules import SetLoss
from setloss.nn.pixels import ImageDecisions, decide_pixels, fit_temperature

__all__ = [
    "CountModelLoss",
    "ImageDecisions",
    "LabelDecisions",
    "SetLoss",
    "SetLossWarning",
    "component_groups",
    "count_loss",
    "decide",
    "decide_pixels",
    "fit_temperature",
    "set_loss",
]
