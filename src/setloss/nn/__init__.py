"""The surrogates in PyTorch: `SetLoss` for training, from label sets to megapixels, and decisions at test time.

A call of `SetLoss` goes through one module each: `targets` -> `sets` -> `cuts` -> `reduction`.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'") from error

from setloss.nn.image_decisions import ImageDecisions, PixelCalibration, decide_images
from setloss.nn.loss import SetLoss, set_loss
from setloss.nn.pixel_calibration import calibrate_pixels, fit_temperature, fit_threshold
from setloss.nn.sets import component_groups
from setloss.nn.targets import SetLossWarning

__all__ = [
    "ImageDecisions",
    "PixelCalibration",
    "SetLoss",
    "SetLossWarning",
    "calibrate_pixels",
    "component_groups",
    "decide_images",
    "fit_temperature",
    "fit_threshold",
    "set_loss",
]
