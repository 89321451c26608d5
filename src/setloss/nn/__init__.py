"""The surrogates in PyTorch: `SetLoss` and its functional twin, from label sets to megapixels."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'") from error

from setloss.nn.functional import set_loss
from setloss.nn.modules import SetLoss

__all__ = ["SetLoss", "set_loss"]
