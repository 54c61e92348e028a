"""That the end of a run is told once, however many windows follow it."""

from __future__ import annotations

import os

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.files import open_private


def claim_telling(run: RunDirectory) -> bool:
    """Say that this process tells of the end of `run`. Returns False if another one said so before.

    Who is about to tell claims it, and not who follows the run: a window that dies meanwhile leaves it to the others.
    Where the folder takes no file everybody may tell: twice is better than never.
    """
    try:
        os.close(open_private(run.told_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True
