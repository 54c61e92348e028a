"""CUDA asked through a real shared library, compiled here in place of the driver's."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from patience import PATIENCE_S

from gpu_studio.trainer.cuda_driver import cuda_driver

SOURCE = r"""
#include <stdio.h>
#include <string.h>
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuInit(unsigned flags) { return FAILURE; }
int cuDeviceGetCount(int *n) { *n = 2; return COUNT; }
int cuDeviceGet(int *d, int ordinal) { *d = ordinal; return 0; }
int cuDeviceGetUuid(unsigned char *u, int d) { memset(u, 0xa0 + d, 16); return d ? UUID : 0; }
int cuDeviceGetPCIBusId(char *t, int n, int d) {
    snprintf(t, n, "0000:%02X:00.0", 0x2d + d); return 0;
}
int cuDeviceGetName(char *t, int n, int d) { snprintf(t, n, "Fake %d", d); return 0; }
int cuGetErrorName(int e, const char **t) { *t = "CUDA_ERROR_NO_DEVICE"; return e == 100 ? 0 : 1; }
int cuGetErrorString(int e, const char **t) {
    *t = "no CUDA-capable device is detected"; return e == 100 ? 0 : 1;
}
"""
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler to build the library with"
)


@pytest.fixture
def library(tmp_path):
    """Build the library, with these values in its source."""

    def build(source: str = SOURCE, **values: int) -> str:
        name = "-".join(map(str, values.values()))
        (tmp_path / "cuda.c").write_text(source)
        path = tmp_path / f"libcuda{name}.so"
        defined = {"FAILURE": 0, "COUNT": 0, "UUID": 0} | values
        flags = [f"-D{key}={value}" for key, value in defined.items()]
        subprocess.run(
            [str(COMPILER), "-shared", "-fPIC", *flags, "-o", path, tmp_path / "cuda.c"],
            check=True,
            timeout=PATIENCE_S,
        )
        return str(path)

    return build


def test_that_the_cards_are_told_as_cuda_counts_them(library):
    assert cuda_driver(library()) == {
        "version": "12.4",
        "cards": [
            {
                "ordinal": 0,
                "uuid": "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0",
                "bus_id": "0000:2D:00.0",
                "name": "Fake 0",
            },
            {
                "ordinal": 1,
                "uuid": "GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1",
                "bus_id": "0000:2E:00.0",
                "name": "Fake 1",
            },
        ],
        "error": "",
        "why_not": "",
    }


@pytest.mark.parametrize("where", ["FAILURE", "COUNT"])
def test_that_a_cuda_that_does_not_start_says_why(library, where):
    assert cuda_driver(library(**{where: 100})) == {
        "version": "12.4",
        "cards": [],
        "error": "CUDA_ERROR_NO_DEVICE",
        "why_not": "no CUDA-capable device is detected",
    }


def test_that_an_error_that_cuda_has_no_name_for_is_told_by_its_number(library):
    assert cuda_driver(library(FAILURE=7))["error"] == "CUDA error 7"


def test_that_one_card_s_refusal_leaves_the_other_facts(library):
    cards = cuda_driver(library(UUID=1))["cards"]

    assert [card["uuid"] != "" for card in cards] == [True, False]
    assert cards[1]["bus_id"] == "0000:2E:00.0"


def test_that_a_library_of_old_is_told(library):
    assert (
        "is too old"
        in cuda_driver(library(source="int cuDriverGetVersion(int *v) { *v = 9000; return 0; }"))[
            "why_not"
        ]
    )


def test_that_a_missing_library_is_told():
    found = cuda_driver("libno-such-cuda.so.1")

    assert (found["cards"], found["error"]) == ([], "")
    assert found["why_not"].startswith("libno-such-cuda.so.1 cannot be loaded")
