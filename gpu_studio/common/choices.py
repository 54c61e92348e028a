"""What the user has chosen for good: `settings.toml`, which people may read and write themselves.

It holds only what differs from its default. Window and command line read it alike. What the window
merely remembers, such as its place on the screen, is not here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from platformdirs import user_config_path

from gpu_studio.common.paths import expanded
from gpu_studio.common.safe_files import in_turn, read_regular, replace_whole
from gpu_studio.common.toml_text import toml_tables

ENVIRONMENT: Final = "GPU_STUDIO_SETTINGS"
RUNS_FOLDER: Final = "runs.folder"
THOUSANDS: Final = "numbers.thousands"
_FILE: Final = "settings.toml"
_MOST: Final = 1 << 20
_PATIENCE_S: Final = 0.5
_ABOUT: Final = "What was chosen for good. What is not here has its default."


def settings_path() -> Path:
    """The file of what the window remembers, beside which the choices are.

    `$GPU_STUDIO_SETTINGS` if set and not empty, else `window.ini` in the user's config folder.
    """
    chosen = os.environ.get(ENVIRONMENT) or user_config_path("gpu-studio") / "window.ini"
    return expanded(chosen).absolute()


def chosen_runs_folder() -> str:
    """The folder for runs that was chosen; empty if none was, or what no folder can be called."""
    folder = Choices(settings_path().parent).get(RUNS_FOLDER)
    return folder if isinstance(folder, str) and "\0" not in folder else ""


def chosen_thousands(space: str) -> str:
    """What was chosen to stand between thousands, where a space is to be written as `space`."""
    marks = {"space": space, "none": ""}
    chosen = Choices(settings_path().parent).get(THOUSANDS)
    return marks.get(chosen, ",") if isinstance(chosen, str) else ","


class Choices:
    """The choices in a folder, by their keys: `runs.folder`, `window.theme`.

    `problem` says why the file cannot be read, or could not be written; empty if neither. What is
    set is known for as long as this object lives, whatever becomes of the file.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FILE
        self.problem = ""
        self._values: dict[str, Any] = {}
        try:
            self._values = _flat(toml_tables(self._read()))
        except (ValueError, OSError) as error:
            self.problem = f"{self.path} cannot be read: {_why(error)}. Defaults count instead."

    def get(self, key: str) -> Any:
        """The value chosen; None if none was."""
        return self._values.get(key)

    def set(self, key: str, value: Any) -> None:
        """Choose a value, or with None the default. The file is written now, as others left it."""
        self._values[key] = value
        try:
            self._write(key, value)
        except (ValueError, OSError) as error:
            self.problem = (
                f"{self.path} cannot be changed: {_why(error)}. What you choose counts until the "
                "window is closed."
            )
        else:
            self.problem = ""

    def _write(self, key: str, value: Any) -> None:
        # Imported when something is chosen, which no start waits for.
        import tomlkit

        section, _, name = key.partition(".")
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with in_turn(self.path.with_suffix(".lock"), _PATIENCE_S):  # of other windows
            text = self._read() or f"# {_ABOUT}\n"
            # tomlkit has no limits of its own.
            if _flat(toml_tables(text)).get(key) == value:
                return
            document = tomlkit.parse(text)
            table: Any = document.setdefault(section, tomlkit.table())
            if not isinstance(table, dict):
                raise ValueError(f"{section} in it is no table")
            if value is not None:
                table[name] = value
            else:
                table.pop(name, None)
                if not table:
                    del document[section]
            replace_whole(self.path, [tomlkit.dumps(document).encode()])

    def _read(self) -> str:
        try:
            return read_regular(self.path, _MOST, follow=True).decode()
        except FileNotFoundError:
            return ""


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    tables = ((name, table) for name, table in document.items() if isinstance(table, dict))
    return {f"{name}.{key}": value for name, table in tables for key, value in table.items()}


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).rstrip(".")
