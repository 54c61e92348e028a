"""Install missing Debian packages, or say how to."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends")
# Another apt may be at work: wait for it.
WAIT = ("-o", "DPkg::Lock::Timeout=600")


def is_here() -> bool:
    """Whether this is Debian or one of its kin, with apt."""
    return shutil.which("apt-get") is not None and shutil.which("dpkg") is not None


def may_install() -> bool:
    """Whether packages can be installed without asking anybody."""
    return is_here() and os.geteuid() == 0


def command(packages: Sequence[str]) -> str:
    """What somebody who is not root types to install the packages."""
    return "sudo apt-get update && sudo apt-get install --no-install-recommends " + " ".join(
        packages
    )


def install(packages: Sequence[str]) -> bool:
    """Install the packages. False if apt could not; it has then said why on stderr."""
    _quietly(["apt-get", *WAIT, "update"])  # may fail for one source of several: installing decides
    return _quietly([INSTALL[0], *WAIT, *INSTALL[1:], *packages])


def _quietly(words: Sequence[str]) -> bool:
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    done = subprocess.run(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        os.write(2, (done.stdout + done.stderr)[-2000:].encode())
    return done.returncode == 0
