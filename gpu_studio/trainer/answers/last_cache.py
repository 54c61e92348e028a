"""The bytes of the processor's third cache, as Eigen takes them (`queryCacheSizes`)."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from contextlib import suppress
from pathlib import Path

UNKNOWN = 2 << 20
"""What Eigen takes where it knows none."""
_PROCESSORS, _PROCESS = Path("/sys/devices/system/cpu"), Path("/proc")
_OF_AMD = "AuthenticAMD"
_ABOUT_CACHES = 0x80000006
_EXTENDED = 0x80000000
_CPUID_EDX = bytes.fromhex("53 89f8 31c9 0fa2 89d0 5b c3")
"""push rbx; mov eax, edi; xor ecx, ecx; cpuid; mov eax, edx; pop rbx; ret"""
_CPUID_EAX = bytes.fromhex("53 89f8 31c9 0fa2 5b c3")
"""The same without mov eax, edx."""


def last_cache_bytes() -> int:
    """Return the bytes of the third cache, as Eigen takes them.

    Of a processor of AMD's it asks for that of the whole processor; in a virtual machine the system
    knows of less.
    """
    if _OF_AMD in _text_of(_PROCESS / "cpuinfo"):
        with suppress(OSError):
            return of_amd() or UNKNOWN
    sizes = (_text_of(each / "cache/index3/size") for each in _PROCESSORS.glob("cpu[0-9]*"))
    known = (int(size[:-1]) << 10 for size in sizes if size.endswith("K"))
    return max(known, default=UNKNOWN)


def of_amd() -> int:
    """Return the bytes that a processor of AMD's tells of, and 0 if it tells nothing.

    From AMD64 Architecture Programmer's Manual, volume 3, appendix E.4.5 (Fn8000_0006, EDX): in
    units of 512 KiB. Raises OSError where the instruction cannot be run.
    """
    if _run(_CPUID_EAX, _EXTENDED) < _ABOUT_CACHES:
        return 0
    # Eigen leaves out the highest four bits.
    return ((_run(_CPUID_EDX, _ABOUT_CACHES) & 0xFFFC000) >> 18) * (512 << 10)


def _run(code: bytes, argument: int) -> int:
    """Return what machine code leaves in EAX, for an argument in EDI (System V's convention)."""
    if os.name != "posix" or platform.machine() != "x86_64":
        raise OSError(f"There is no CPUID on {platform.machine()}.")
    runs = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    with mmap.mmap(-1, mmap.PAGESIZE, prot=runs) as page:
        page.write(code)
        place = ctypes.c_char.from_buffer(page)
        function = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(ctypes.addressof(place))
        found = function(argument)
        del place  # a page that something points to cannot be unmapped
    return int(found)


def _text_of(path: Path) -> str:
    """Return what the system tells in a file; nothing where it tells nothing."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
