"""The names of the CUDA libraries, from what TensorFlow was built for."""

from __future__ import annotations

import pytest

from gpu_studio.trainer.cuda_libraries import OF_CUDA, sonames

CUDA_12 = (
    'nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"',
    'nvidia-cuda-runtime-cu12<13.0,>=12.5.82; extra == "and-cuda"',
    'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',
    'nvidia-cufft-cu12<12.0,>=11.2.3.61; extra == "and-cuda"',
    'nvidia-cusolver-cu12==11.6.3.83; extra == "and-cuda"',
    'nvidia-cusparse-cu12 (>=12.5.1.3) ; extra == "and-cuda"',
    'nvidia-nccl-cu12~=2.27.7; extra == "and-cuda"',
    "numpy>=1.26.0",
)
CUDA_13 = (
    "nvidia-cublas>=13.1.0.3",
    "nvidia-cuda-runtime>=13.0.96",
    "nvidia-cufft>=12.0.0.61",
    "nvidia-cudnn-cu13>=9.13",
)


def test_that_the_wheels_packages_tell_the_names():
    assert sonames("12.5.1", "9", CUDA_12) == (
        "libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11",
        "libcusolver.so.11", "libcusparse.so.12", "libnccl.so.2", "libcudnn.so.9",
    )  # fmt: skip


def test_that_a_later_cuda_is_known_without_a_table():
    assert "13" not in OF_CUDA
    assert sonames("13.0", "9", CUDA_13) == (
        "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12",
        "libcudnn.so.9",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cudnn", "name"), [("8", "libcudnn.so.8"), ("9.3.0", "libcudnn.so.9"), ("", "libcudnn.so.9")]
)
def test_that_cudnn_is_that_of_the_build_if_it_tells(cudnn, name):
    assert sonames("12.5.1", cudnn, CUDA_12)[-1] == name


def test_that_a_package_that_says_nothing_is_taken_by_its_cuda():
    assert sonames("12.2", "8", ())[:1] == ("libcudart.so.12",)
    assert sonames("12.2", "8", ())[-1] == "libcudnn.so.8"
    assert sonames("99.0", "9", ("numpy>=1",)) == ()
