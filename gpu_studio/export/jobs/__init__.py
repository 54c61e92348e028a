"""Files that start the workers of a script: by commands, by Slurm, by Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu_studio.export.jobs.addresses import SCRIPT, configs
from gpu_studio.export.jobs.kubernetes import kubernetes
from gpu_studio.export.jobs.launch import launch
from gpu_studio.export.jobs.sbatch import sbatch
from gpu_studio.export.learning import ExportError
from gpu_studio.plan import Plan, cluster_of

__all__ = ["KINDS", "SCRIPT", "SUFFIXES", "job_text", "refuse_alone", "starts_script"]

KINDS: Final = ("tf_config", "launch", "sbatch", "kubernetes")
"""What can be written for a plan of several workers, besides their script."""
SUFFIXES: Final[Mapping[str, str]] = {
    ".jsonl": "tf_config",
    ".sh": "launch",
    ".sbatch": "sbatch",
    ".yaml": "kubernetes",
    ".yml": "kubernetes",
}
"""Which of them the name of a file means."""


def starts_script(kind: str) -> bool:
    """Whether the file starts `SCRIPT`, which must then lie beside it."""
    return kind in ("launch", "sbatch")


def refuse_alone(plan: Plan) -> None:
    """Raises ExportError for a plan of a single process: there is nothing to start together."""
    if cluster_of(plan) is None:
        raise ExportError(
            "This plan trains in one process, which the script starts by itself: --to script. For "
            'several workers set distribution.strategy = "multi_worker".'
        )


def job_text(
    kind: str,
    plan: Plan,
    name: str,
    script: str,
    beside: Mapping[str, bytes],
    file: str | None = None,
) -> str:
    """The text of one of `KINDS`, to be called `file`.

    `name` is the plan's in small letters, digits and hyphens; `script` is its script,
    and `beside` what the files hold that lie beside that. Raises ExportError.
    """
    refuse_alone(plan)
    if kind == "tf_config":
        return configs(plan)
    if kind == "launch":
        return launch(plan, file or "launch.sh")
    if kind == "sbatch":
        return sbatch(plan, name, file or "job.sbatch")
    return kubernetes(plan, name, script, beside, file or "kubernetes.yaml")
