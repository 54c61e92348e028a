"""The bundled data: 1,797 real handwritten digits that need no network.

Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning Repository,
doi 10.24432/C50P49, CC BY 4.0 (resources/data/LICENSE-digits.txt).
"""

from __future__ import annotations

import numpy as np

from gpu_studio.resource_files import resource
from gpu_studio.trainer.data.values import Images, Split

_LARGEST_PIXEL = 16
_BOX, _FRAME = 20, 28


def digits() -> Split:
    """All digits: x float32 (1797, 28, 28, 1) in 0…1, y int32 (1797,) in 0…9."""
    with np.load(resource("data/digits.npz"), allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    return Split(grow(images.astype(np.float32) / _LARGEST_PIXEL), labels.astype(np.int32))


def grow(images: Images) -> Images:
    """Square images (n, k, k) as MNIST shows its digits: in a box of 20 × 20 amid a black frame of 28 × 28.

    Bilinear between the pixels' centres, so that no pixel is doubled or lost and 0…1 stays 0…1. MNIST's box and frame:
    LeCun et al. 1998, "Gradient-based learning applied to document recognition", section III.
    """
    weights = bilinear_weights(images.shape[1], _BOX)
    margin = (_FRAME - _BOX) // 2
    framed = np.zeros((len(images), _FRAME, _FRAME, 1), np.float32)
    framed[:, margin : margin + _BOX, margin : margin + _BOX, 0] = weights @ images @ weights.T
    return framed


def bilinear_weights(old: int, new: int) -> Images:
    """The (new, old) matrix that resamples a line of `old` pixels to `new`; each row sums to 1."""
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    left = np.minimum(centres.astype(np.intp), old - 2)
    share = (centres - left).astype(np.float32)
    weights = np.zeros((new, old), np.float32)
    weights[np.arange(new), left] = 1 - share
    weights[np.arange(new), left + 1] = share
    return weights
