"""A card that fails in mid-run: said as what it is, with the other devices to go on with."""

from __future__ import annotations

from gpu_studio.runs.events import Failed
from gpu_studio.runs.failures.failure_mends import without_device
from gpu_studio.runs.failures.failure_texts import device_in
from gpu_studio.runs.failures.lost_device import LostDevice
from gpu_studio.trainer.failures.culprit import culprit
from gpu_studio.trainer.failures.scene import Scene


def device_lost(error: BaseException, found: LostDevice, scene: Scene, trace: str) -> Failed:
    """The failure of a card, as `lost_device_in` found it in the error."""
    device = device_in(str(error)) or _only_card(scene)
    where = f"{device} failed" if device else "A card failed"
    return Failed(
        message=f"{where} while it trained: {found.why} ({found.words}).",
        suggestions=[_go_on(scene), *found.suggestions],
        traceback=trace,
        device=device,
        kind="device_lost",
        layer=culprit(error, scene.layers),
        mends=without_device(scene.plan, device, scene.replicas) if scene.plan and device else [],
    )


def _only_card(scene: Scene) -> str | None:
    """The one card that takes part, where the error does not name it."""
    cards = [name for name in scene.replicas if name.startswith("GPU")]
    return cards[0] if len(cards) == 1 else None


def _go_on(scene: Scene) -> str:
    others = "on the other devices" if len(scene.replicas) > 1 else "once the card answers again, or on the CPU"
    return f"Resume from the last checkpoint {others}."
