"""Put the library of the practice cards into a wheel: `make wheel ARGS=--practice`."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface[Any]):
    """Adds the folder that `$GPU_STUDIO_WHEEL_LIBRARY` names, and tells for which machines."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change what is put into the wheel."""
        del version
        library = os.environ.get("GPU_STUDIO_WHEEL_LIBRARY", "")
        if library:
            within = f"gpu_studio/resources/practice/{Path(library).name}"
            build_data["force_include"][library] = within
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
