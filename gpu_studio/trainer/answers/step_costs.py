"""What a traced step costs, layer by layer, and what it holds on each kind of device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from gpu_studio.placement.apart import Apart
from gpu_studio.placement.layer_holds import Kernel, MetOutputs
from gpu_studio.placement.step_memory import StepMemory


@dataclass(frozen=True, slots=True)
class LayerCosts:
    """The costs of one layer per sample, and its first output's shape without the batch axis.

    `kernels` are those that need scratch memory on a card, see `LayerHolds`; `output_kept_bytes`,
    `forward_bytes`, `let_go_bytes`, `made_bytes`, `outlived_bytes`, `behind_bytes`,
    `spared_bytes`, `lent_bytes`, `gives_back`, `apart`, `row_bytes` and `shape_bytes` as in
    `GraphLayer`.
    `added_up_bytes` are the gradients that its loops add up. `keeps_inputs` says whether its
    backward pass needs what it takes; `meets`, `met_outputs` as in `GraphLayer`. It `convolves` if
    any of its operations is a convolution.
    """

    output_shape: tuple[int | None, ...] = ()
    output_bytes: int = 0
    output_kept_bytes: int = 0
    kept_bytes: int = 0
    passing_bytes: int = 0
    forward_bytes: int = 0
    let_go_bytes: int = 0
    made_bytes: int = 0
    around_bytes: int = 0
    outlived_bytes: int = 0
    behind_bytes: int = 0
    spared_bytes: int = 0
    kernels: tuple[Kernel, ...] = ()
    lent_bytes: int = 0
    gives_back: int = 0
    apart: tuple[Apart, ...] = ()
    row_bytes: int = 0
    shape_bytes: int = 0
    added_up_bytes: int = 0
    keeps_inputs: bool = True
    meets: tuple[tuple[str, str], ...] = ()
    met_outputs: MetOutputs = field(default_factory=MetOutputs)
    flops_forward: float = 0.0
    flops_backward: float = 0.0
    convolves: bool = False


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Every layer's costs by its path, and what the step holds on a "CPU" and on a "GPU".

    Also on one that sends its gradients, on one that gathers those of others, on one that is sent
    the weights, and on one that takes micro-batches in turn. Each step is rehearsed when it is
    asked for.
    """

    layers: dict[str, LayerCosts]
    steps: Mapping[str, StepMemory]


Rehearsal = Callable[[], StepMemory]


class RehearsedSteps(Mapping[str, StepMemory]):
    """What a step holds on each kind of device, each rehearsed once it is asked for.

    Together they take seconds, and a plan uses one kind or two.
    """

    def __init__(self, rehearsals: Mapping[str, Rehearsal]) -> None:
        self._rehearsals = {kind: cache(each) for kind, each in rehearsals.items()}

    def __getitem__(self, kind: str) -> StepMemory:
        return self._rehearsals[kind]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._rehearsals)

    def __len__(self) -> int:
        return len(self._rehearsals)
