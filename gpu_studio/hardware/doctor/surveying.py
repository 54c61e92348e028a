"""The driver asked through a process of its own: whatever becomes of it, there is a survey."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpu_studio.hardware.answering import NoAnswerError, answer_of
from gpu_studio.hardware.doctor.facts import Survey
from gpu_studio.own_processes import module_command

COMMAND = tuple(module_command("gpu_studio.hardware.doctor.survey"))


def take_survey(timeout: float = 15.0, command: Sequence[str] = COMMAND) -> Survey:
    """What the driver tells. Takes at most `timeout` seconds and a little, and raises nothing."""
    try:
        return msgspec.json.decode(answer_of(command, timeout), type=Survey)
    except NoAnswerError as error:
        return Survey(why_no_answer=str(error))
    except msgspec.MsgspecError as error:
        return Survey(why_no_answer=f"asking the NVIDIA driver failed (the answer is no survey: {error})")
