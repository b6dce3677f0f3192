"""The two classifiers: images in, class scores out."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor, nn

CLASSES, PIXELS = 10, 28 * 28


class MLP(nn.Module):
    """``depth`` hidden layers of ``width`` units: layer normalisation, ReLU and dropout each."""

    def __init__(self, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs in [PIXELS] + [width] * (depth - 1):
            layers += [nn.Linear(inputs, width), nn.LayerNorm(width)]
            layers += [nn.ReLU(), nn.Dropout(dropout)]
        self.hidden = nn.Sequential(*layers)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:  # (n, 28, 28) → (n, 10)
        return self.head(self.hidden(images.flatten(1)))


class CNN(nn.Module):
    """``depth`` 3×3 convolutions, two of them followed by pooling; ``width`` units before the head.

    The channels follow the width, so that both options mean the same thing: capacity.
    """

    def __init__(self, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        channels = max(8, width // 8)
        layers: list[nn.Module] = []
        for i, inputs in enumerate([1] + [channels] * (depth - 1)):
            layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if i < 2 else []
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(7))  # (n, channels, 7, 7)
        self.hidden = nn.Linear(channels * 7 * 7, width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:  # (n, 28, 28) → (n, 10)
        features = self.features(images.unsqueeze(1)).flatten(1)
        return self.head(self.dropout(F.relu(self.hidden(features))))
