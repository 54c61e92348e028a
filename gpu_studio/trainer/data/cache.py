"""Data sets of others: in Keras' cache, or downloaded into it.

The files are those of `keras.datasets`, in the same places, but they are read here: Keras unpickles CIFAR-10 and
GPU Studio unpickles nothing. A file that is there is used as it is, without a network and without importing Keras.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.trainer.errors import DataError
from gpu_studio.user_paths import expanded

_SECONDS_OF_SILENCE = 30.0


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a data set: its name below Keras' home, its address, and its checksum (SHA-256 or MD5), if known."""

    place: str
    origin: str
    checksum: str | None = None

    @property
    def path(self) -> Path:
        """Where the file is, or belongs."""
        return keras_home() / self.place


def keras_home() -> Path:
    """Keras' own folder by Keras' own rule: $KERAS_HOME, else ~/.keras, else /tmp/.keras if home cannot be written."""
    if "KERAS_HOME" in os.environ:
        return expanded(os.environ["KERAS_HOME"])
    home = Path.home()
    return (home if os.access(home, os.W_OK) else Path("/tmp")) / ".keras"  # noqa: S108 (Keras looks there)


def fetch(download: Download) -> Path:
    """The file's path, downloaded first if it is not there. Raises DataError saying which file to put where."""
    path = download.path
    if not path.is_file():
        try:
            _download(download, path)
        except Exception as error:  # Keras raises bare Exception; whatever it is, the file is not there
            raise _not_there(download, error) from error
    return path


def _download(download: Download, path: Path) -> None:
    """Into a name of this process first, so that a download cut short never looks like the file."""
    import keras

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        with _impatient():
            keras.utils.get_file(
                part.name, download.origin, file_hash=download.checksum, cache_dir=path.parent, cache_subdir=""
            )
        part.chmod(0o600)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _impatient() -> Iterator[None]:
    """Give up on a silent network: Keras' download has no time limit of its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS_OF_SILENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def damaged(path: Path, what: str) -> DataError:
    """The error for a cached file that is not what it should be."""
    return DataError(
        f"The cached file {path} {what}: it is incomplete or damaged.",
        [f"Delete {path}; the next run downloads it again.", 'Use data.name = "digits", which needs no download.'],
    )


def _not_there(download: Download, error: Exception) -> DataError:
    return DataError(
        f"The file {download.path} is not there, and it cannot be downloaded: {error}",
        [
            'Use data.name = "digits", which needs no network.',
            f"Download {download.origin} on a machine with a network and put it at {download.path}.",
            "Check the network, and $https_proxy if there is a proxy.",
        ],
    )
