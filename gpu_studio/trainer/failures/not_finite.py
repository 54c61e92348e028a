"""A loss that is no number any more: which layer gave way first, and how large its gradient was just before."""

from __future__ import annotations

from gpu_studio.runs.events import Failed, StateChanged
from gpu_studio.runs.failures.failure_mends import against_divergence
from gpu_studio.trainer.errors import NotFiniteError
from gpu_studio.trainer.failures.finding import Finding
from gpu_studio.trainer.failures.scene import Scene


def not_finite(error: NotFiniteError, scene: Scene, trace: str) -> Failed:
    """The failure, with what repeating the last steps has shown."""
    finding = _inquire(error, scene)
    return Failed(
        message=f"{error.message} {finding.words}" if finding else error.message,
        suggestions=list(error.suggestions),
        traceback=trace,
        kind=error.kind,
        layer=finding.look.layer if finding else None,
        mends=against_divergence(scene.plan) if scene.plan else [],
    )


def _inquire(error: NotFiniteError, scene: Scene) -> Finding | None:
    if scene.session is None or scene.run is None or scene.hurried():
        return None
    from gpu_studio.trainer.failures.inquest import inquest

    scene.tell(StateChanged(state="stopping", reason="looking for the layer that gave way"))
    try:
        return inquest(scene.session, scene.run, scene.base, error.step, scene.hurried)
    except Exception:  # noqa: BLE001  (the failure itself must be told, whatever looking closer runs into)
        return None
