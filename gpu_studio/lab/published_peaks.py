"""What NVIDIA publishes of a card: the most it can compute in each type, and read of its memory.

Dense figures, without sparsity, at the boost clock; those of tensor cores add up in float32, as
TensorFlow's products do. A card computes `float32` outside its tensor cores. What is not listed is
not known here, and nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from gpu_studio.lab.benchmark_results import BenchmarkRow

TERA: Final = 1e12
GIGA: Final = 1e9
PUBLISHED: Final = "its published peak"
"""How the reference of a row begins that is held against one."""


@dataclass(frozen=True, slots=True)
class Peak:
    """A card's published peaks, and the document that has them.

    `teraflops` by type, in TFLOP/s; `gigabytes` of its memory, in GB/s (10⁹). A type that the card
    does not have is left out.
    """

    teraflops: Mapping[str, float]
    gigabytes: float
    source: str


def _peak(float32: float, tf32: float, half: float, gigabytes: float, source: str) -> Peak:
    """A card's peaks. One without TF32 has no bfloat16 either: both came with Ampere."""
    bfloat16 = half if tf32 else 0.0
    every = {"float32": float32, "tf32": tf32, "float16": half, "bfloat16": bfloat16}
    return Peak({name: rate for name, rate in every.items() if rate}, gigabytes, source)


_H100, _A100 = "NVIDIA H100 Tensor Core GPU datasheet", "NVIDIA A100 Tensor Core GPU datasheet"
_V100 = "NVIDIA V100 Tensor Core GPU datasheet"
_AMPERE = "NVIDIA Ampere GA102 GPU Architecture whitepaper"
_ADA = "NVIDIA Ada GPU Architecture whitepaper"
_L40 = "NVIDIA L40 and L40S datasheets"

PEAKS: Final[Mapping[str, Peak]] = {
    "H200 NVL": _peak(60, 417.5, 835.5, 4800, "NVIDIA H200 Tensor Core GPU datasheet"),
    "H200": _peak(67, 494.5, 989.5, 4800, "NVIDIA H200 Tensor Core GPU datasheet"),
    "H100 80GB HBM3": _peak(67, 494.5, 989.5, 3350, _H100),
    "H100 NVL": _peak(60, 417.5, 835.5, 3900, _H100),
    "H100 PCIe": _peak(51, 378, 756.5, 2000, _H100),
    "A100-SXM4-80GB": _peak(19.5, 156, 312, 2039, _A100),
    "A100-SXM4-40GB": _peak(19.5, 156, 312, 1555, _A100),
    "A100 80GB PCIe": _peak(19.5, 156, 312, 1935, _A100),
    "A100-PCIE-40GB": _peak(19.5, 156, 312, 1555, _A100),
    "A30": _peak(10.3, 82, 165, 933, "NVIDIA A30 Tensor Core GPU datasheet"),
    "A40": _peak(37.4, 74.8, 149.7, 696, "NVIDIA A40 datasheet"),
    "A10": _peak(31.2, 62.5, 125, 600, "NVIDIA A10 Tensor Core GPU datasheet"),
    "L40S": _peak(91.6, 183, 362, 864, _L40),
    "L40": _peak(90.5, 90.5, 181, 864, _L40),
    "L4": _peak(30.3, 60, 121, 300, "NVIDIA L4 Tensor Core GPU datasheet"),
    "T4": _peak(8.1, 0, 65, 320, "NVIDIA T4 Tensor Core GPU datasheet"),
    "V100-SXM2-16GB": _peak(15.7, 0, 125, 900, _V100),
    "V100-SXM2-32GB": _peak(15.7, 0, 125, 900, _V100),
    "V100-PCIE-16GB": _peak(14, 0, 112, 900, _V100),
    "V100-PCIE-32GB": _peak(14, 0, 112, 900, _V100),
    "V100S-PCIE-32GB": _peak(16.4, 0, 130, 1134, _V100),
    "GeForce RTX 3080": _peak(29.8, 29.8, 59.5, 760, _AMPERE),
    "GeForce RTX 3090": _peak(35.6, 35.6, 71, 936, _AMPERE),
    "GeForce RTX 4080": _peak(48.7, 48.7, 97.5, 716.8, _ADA),
    "GeForce RTX 4090": _peak(82.6, 82.6, 165.2, 1008, _ADA),
}
"""By the card's name as NVML and CUDA have it, without `NVIDIA` or `Tesla` before it."""
_MAKER: Final = re.compile(r"^(?:NVIDIA|Tesla|\s)+", re.IGNORECASE)


def peak_of(card: str) -> Peak | None:
    """The published peaks of a card by its name; None if they are not known here.

    An instance of a card in MIG mode has a part of it, which is published nowhere.
    """
    return PEAKS.get(_MAKER.sub("", card).strip())


def against_peak(row: BenchmarkRow, card: str) -> BenchmarkRow:
    """The row of what `card` computes, held against its published peak, or against nothing.

    Of an operation that is bound by memory, the peak is that of the memory. A row that has a
    reference keeps it.
    """
    if row.reference or not row.seconds or not card:
        return row
    peak = peak_of(card)
    if peak is None:
        name = f"no published peak of {card} is known here"
        return msgspec.structs.replace(row, reference_name=name)
    rate = peak.teraflops.get(row.dtype, 0.0) * TERA
    by_memory = row.bytes / (peak.gigabytes * GIGA)
    if not rate and row.what != "element-wise":
        return row
    seconds = by_memory if row.what == "element-wise" else row.flops / rate
    name = f"{PUBLISHED} ({peak.source})"
    return msgspec.structs.replace(row, reference=(seconds,), reference_name=name)
