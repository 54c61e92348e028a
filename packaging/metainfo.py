"""The description for software centres, with screenshots.

AppStream takes screenshots from the web only, so that they are named where it is known from which
address: `make dist ARGS="--screenshots https://…"`, and so of `make wheel` and `make deb`, with the
folder that has those of `packaging/screenshots`. Without an address the description has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

METAINFO: Final = Path("metainfo/org.gpu_studio.GPUStudio.metainfo.xml")
ADDRESS: Final = "GPU_STUDIO_SCREENSHOTS"
"""The variable in which wheel_hook.py is told the address."""
SHOWN: Final = {
    "train-dark.png": "A run on the Train page: its curves, and what each device holds",
    "plan-dark.png": "Layers placed on two devices on the Plan page",
    "runs-light.png": "Two runs compared on the Runs page",
    "lab-light.png": "A study of batches on the Lab page: which fits, which is the fastest",
}
"""Files of `packaging/screenshots` with what they show; the first one is shown first."""
_FIRST: Final = ' type="default"'
_BEFORE: Final = "  <content_rating"


def check(address: str) -> None:
    """Raise LookupError for what is no address that AppStream takes."""
    if not address.startswith("https://"):
        raise LookupError(
            f"{address} is no address from which software centres take screenshots: give one that "
            "begins with https://"
        )


def describe(share: Path, address: str) -> None:
    """Name the screenshots in the description below `share`. Raises LookupError as below."""
    path = share / METAINFO
    path.write_text(with_screenshots(path.read_text(), address))


def with_screenshots(text: str, address: str) -> str:
    """The description with the screenshots that lie in the folder at `address`.

    Raises LookupError for what is no address of the web.
    """
    check(address)
    parts = "".join(
        f"    <screenshot{'' if place else _FIRST}>\n"
        f"      <caption>{escape(caption)}</caption>\n"
        f"      <image>{escape(address.rstrip('/'))}/{name}</image>\n"
        "    </screenshot>\n"
        for place, (name, caption) in enumerate(SHOWN.items())
    )
    return text.replace(_BEFORE, f"  <screenshots>\n{parts}  </screenshots>\n{_BEFORE}", 1)
