"""Which modules may open files without `safe_files`: checked on the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import import_rules

RULE = (
    "open it with gpu_studio.common.safe_files: it may be a pipe, a device, a link, or have no end"
)
BY_ATTRIBUTE = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})
BY_NAME = frozenset(
    {
        "open",
        "io.open",
        "os.open",
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "np.fromfile",
    }
)
_CALLED = re.compile("|".join(rf"\b{re.escape(each)}\(" for each in BY_NAME | BY_ATTRIBUTE))
"""Of other files no call is looked at: to parse the whole package takes seconds."""
_BUNDLED = "files of the package itself"
_OF_THE_KERNEL = "files of the kernel, which are no regular ones"
_OF_THE_USER = "data that the plan's user names, looked at before"
ALLOWED: Mapping[str, str] = {
    "common/safe_files.py": "the rule itself, and files named by a person, devices and pipes too",
    "cli/command.py": "/dev/null",
    "cli/entry.py": "/dev/null",
    "cli/export.py": _BUNDLED,
    "ui/window/scripts.py": _BUNDLED,
    "ui/kit/icons.py": _BUNDLED,
    "ui/kit/theme.py": _BUNDLED,
    "export/script_text.py": _BUNDLED,
    "runs/results/report/elements.py": _BUNDLED,
    "contract/kernel.py": _OF_THE_KERNEL,
    "hosts/agent.py": "it runs where the package is not, and looks whether files are regular ones",
    "hosts/examination.py": _OF_THE_KERNEL,
    "runs/questions/answer_cache.py": _OF_THE_KERNEL,
    "hardware/doctor/facts.py": _OF_THE_KERNEL,
    "hardware/host.py": _OF_THE_KERNEL,
    "hardware/sampler/watching.py": _OF_THE_KERNEL,
    "hardware/topology_reading.py": _OF_THE_KERNEL,
    "trainer/data/free_memory.py": _OF_THE_KERNEL,
    "trainer/answers/beside.py": "/dev/null",
    "trainer/answers/last_cache.py": _OF_THE_KERNEL,
    "trainer/environment.py": _OF_THE_KERNEL,
    "hardware/doctor/__main__.py": "what the doctor's caller names, a pipe too",
    "trainer/checkpoints.py": "a folder, to have it on the disk",
    "trainer/data/built_in.py": _OF_THE_USER,
    "trainer/data/image_headers.py": _OF_THE_USER,
    "trainer/data/npz.py": _OF_THE_USER,
    "trainer/step_recording.py": "a folder that only this process knows",
}
"""Files that open by themselves, each with what and why."""


def violations(package: Path) -> list[str]:
    """Each place that opens a file without being allowed to, and each needless permission.

    A sentence each.
    """
    calls = sorted(_calls(package))
    opening = {name for name, _, _ in calls}
    needless = sorted(name for name in ALLOWED if name not in opening and (package / name).exists())
    return [
        *(
            f"{name}:{line} calls {call}: {RULE}"
            for name, line, call in calls
            if name not in ALLOWED
        ),
        *(f"{name} opens nothing by itself, and needs not be allowed to" for name in needless),
    ]


def _calls(package: Path) -> Iterator[tuple[str, int, str]]:
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if not _CALLED.search(path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(import_rules.parsed(path)):
            if isinstance(node, ast.Call) and (call := _opens(node, name)):
                yield name, node.lineno, call


def _opens(node: ast.Call, name: str) -> str:
    call = ast.unparse(node.func)
    if call in BY_NAME or (isinstance(node.func, ast.Attribute) and node.func.attr in BY_ATTRIBUTE):
        return call
    return call if _is_path_open(node) else ""


def _is_path_open(node: ast.Call) -> bool:
    """Whether this is `path.open("rb")`, and not the opening of a dialog, a bus or an archive."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "open":
        return False
    modes = [word.value for word in node.args[:1] if isinstance(word, ast.Constant)]
    return modes in (["r"], ["rb"], ["w"], ["wb"], ["a"], ["ab"]) or any(
        word.arg in ("encoding", "newline") for word in node.keywords
    )
