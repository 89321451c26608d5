"""A small U-Net: three resolutions, skip connections, one score per pixel and class."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Two 3 x 3 convolutions, each normalised over the batch."""
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Images ``(N, channels, H, W)`` to scores ``(N, classes, H, W)``; H and W are multiples of 4."""

    def __init__(self, channels: int = 1, classes: int = 1, width: int = 8) -> None:
        super().__init__()
        fine, middle, coarse = width, 2 * width, 4 * width
        self.down = nn.ModuleList([block(channels, fine), block(fine, middle), block(middle, coarse)])
        self.up = nn.ModuleList([block(coarse + middle, middle), block(middle + fine, fine)])
        self.pool = nn.MaxPool2d(2)
        self.grow = nn.Upsample(scale_factor=2, mode="nearest")
        self.score = nn.Conv2d(fine, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """One score per pixel and class."""
        fine = self.down[0](images)
        middle = self.down[1](self.pool(fine))
        features = self.down[2](self.pool(middle))
        for layer, skipped in zip(self.up, (middle, fine), strict=True):
            features = layer(torch.cat([self.grow(features), skipped], 1))
        scores: Tensor = self.score(features)
        return scores
