"""Other libraries' constructors on our losses: change the import, keep the line.

`smp` (segmentation-models-pytorch), `monai`, `mmseg` and `nnunet` each hold classes that take the arguments of the
class they stand in for, as far as these mean something here; others are refused in words instead of ignored. None of
these libraries is needed.
"""

from setloss.nn.compat import mmseg, monai, nnunet, smp

__all__ = ["mmseg", "monai", "nnunet", "smp"]
