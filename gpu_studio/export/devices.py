"""The part of a script that sets up devices."""

from __future__ import annotations

from gpu_studio.export.errors import ExportError
from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.filling import fill
from gpu_studio.export.layout import listing
from gpu_studio.export.literals import literal
from gpu_studio.plan import Carve, DeviceSettings, Machine, visible_cards

_SET_UP = """\
def set_up_devices():
    \"\"\"What TensorFlow may use, said before anything makes it start its devices.\"\"\"
    # $soft_words
    tf.config.set_soft_device_placement($soft)
    $logging
    $carves
    $growth
"""

_SOFT = "An operation that has no version for its device runs on another one instead."
_HARD = "An operation that has no version for its device is an error."

_LOGGING = """\
# Print on which device each operation runs.
tf.debugging.set_log_device_placement(True)"""

_GROWTH = """\
# Take memory as it is needed; otherwise TensorFlow takes nearly all of a card at once.
for card in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(card, True)"""

_CPU_CARVE = """\
# One CPU shown as several logical devices, CPU:0 to CPU:$last. Strategies treat them as
# they treat cards, so that a plan can be tried without any; they have no limits.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration() for _ in range($count)],
)"""

_CARD_CARVE = """\
# A card cut into slices, each a logical device with a memory limit in MiB. The limits
# are TensorFlow's own: CUDA itself, cuDNN and NCCL take some memory besides.
$limits
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("GPU")[$index],
    [tf.config.LogicalDeviceConfiguration(memory_limit=mib) for mib in slices_mib],
)"""


def devices(facts: ScriptFacts) -> str:
    """Return the function `set_up_devices`.

    Raises ExportError for a carve of a card whose number cannot be known.
    """
    wanted = facts.plan.devices
    return fill(
        _SET_UP,
        soft_words=_SOFT if wanted.soft_placement else _HARD,
        soft=literal(wanted.soft_placement),
        logging=_LOGGING if wanted.log_placement else "",
        carves="\n".join(_carve(carve, wanted, facts.machine) for carve in wanted.carve),
        growth=_GROWTH if wanted.memory_growth else "",
    )


def _carve(carve: Carve, wanted: DeviceSettings, machine: Machine | None) -> str:
    count = len(carve.slices_mib)
    if carve.device == "CPU:0":
        return fill(_CPU_CARVE, last=str(count - 1), count=str(count))
    limits = listing("slices_mib = ", [literal(mib) for mib in carve.slices_mib], indent=4)
    return fill(_CARD_CARVE, limits=limits, index=str(_number(carve.device, wanted, machine)))


def _number(device: str, wanted: DeviceSettings, machine: Machine | None) -> int:
    """Return the card's number among the cards that TensorFlow sees."""
    named = [name for name in wanted.visible if not name.startswith("CPU")]
    if device in named:
        return named.index(device)
    card = machine.card(device) if machine else None
    if machine and card:
        return visible_cards(wanted, machine).index(card)
    if device.startswith("GPU:") and not named:
        return int(device.removeprefix("GPU:"))
    raise ExportError(
        f"Which card {device} is, only a machine that has it can tell: export "
        "the plan there, or name the card in "
        "devices.visible as it is named in devices.carve."
    )
