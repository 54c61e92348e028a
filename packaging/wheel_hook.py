"""Put into the wheel what is made when it is built.

That is the manual page, of `make wheel ARGS=--practice` the library of the practice cards, and with
an address of screenshots the description that names them.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MadeFilesHook(BuildHookInterface[Any]):
    """Adds the manual page, and the library in the folder that `$GPU_STUDIO_WHEEL_LIBRARY` names.

    With the library it tells for which machines the wheel is. `$GPU_STUDIO_SCREENSHOTS` is the
    address of the screenshots.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change what is put into the wheel."""
        if version == "editable":
            return
        self._made = tempfile.TemporaryDirectory()
        for place, text in _manuals(self.root).items():
            page = Path(self._made.name, place.name)
            page.write_bytes(text)
            build_data["shared_data"][str(page)] = f"share/{place}"
        self._describe(build_data["force_include"])
        library = os.environ.get("GPU_STUDIO_WHEEL_LIBRARY", "")
        if library:
            within = f"gpu_studio/resources/practice/{Path(library).name}"
            build_data["force_include"][library] = within
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"

    def _describe(self, included: dict[str, str]) -> None:
        """Have the description with screenshots take the place of the one without."""
        with _importing_from(f"{self.root}/packaging"):
            import metainfo

        address = os.environ.get(metainfo.ADDRESS, "")
        if address:
            file, text = metainfo.METAINFO, Path(self.root, "resources/desktop", metainfo.METAINFO)
            made = Path(self._made.name, file.name)
            made.write_text(metainfo.with_screenshots(text.read_text(), address))
            included[str(made)] = f"gpu_studio/resources/desktop/{file}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made."""
        del build_data, artifact_path
        if version != "editable":
            self._made.cleanup()


def _manuals(root: str) -> dict[Path, bytes]:
    """The manual pages of the source tree at `root`, by their places below `share`."""
    with _importing_from(root):  # Its parser needs nothing that is not Python's own.
        from gpu_studio.cli.completion import manuals
        from gpu_studio.cli.entry import make_parser

        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        date = f"{datetime.fromtimestamp(int(epoch), UTC):%Y-%m-%d}" if epoch else ""
        return manuals(make_parser(), date)


@contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
