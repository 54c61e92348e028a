"""Which blocks fit on a device, how empty the fullest can stay, and how much memory is lacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_studio.placement.block_memory import BlockMemory
from gpu_studio.placement.blocks import pieces
from gpu_studio.placement.stages import Places, SentBytes, least_longest
from gpu_studio.placement.work import Array, Device, is_copied_to

ABOVE_LEAST = 1.3
"""The share to try first, relative to the lower bound by what layers hold in any placement."""
ROUNDING = 1e-12

Join = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class BlockFit:
    """The memory limits of the devices, and the memory of blocks on them."""

    devices: Sequence[Device]
    block_memory: BlockMemory
    micro_batches: int

    def first(self, limit: float | None) -> Places:
        """For each end the earliest begin of a block that may fit within a limit."""
        least = self.block_memory.at_least(self.micro_batches)
        if limit is None:
            return np.zeros(len(least), np.int64)
        found: Places = np.searchsorted(least, least - limit - ROUNDING * least[-1])
        return found

    def allowed(self, sent: Sequence[SentBytes], limits: Sequence[float | None]) -> list[SentBytes]:
        """For each device the bytes sent to each block; infinite if it exceeds the limit."""
        kinds = [
            None if limit is None else (id(table), is_copied_to(device.name), limit)
            for table, device, limit in zip(sent, self.devices, limits, strict=True)
        ]
        tables = {kind: table for kind, table in zip(kinds, sent, strict=True) if kind}
        made = {
            kind: SentBytes(np.zeros(table.table.shape), self.first(kind[2]))
            for kind, table in tables.items()
        }
        for ends, begin, held in self._pieces(max(limit for _, _, limit in made)) if made else ():
            here = slice(ends.start, ends.stop), slice(begin, ends.stop)
            for kind, table in tables.items():
                made[kind].table[here] = np.where(
                    held[kind[1]] <= kind[2], table.table[here], np.inf
                )
        return [made[kind] if kind else table for kind, table in zip(kinds, sent, strict=True)]

    def least_fullest(self, wholes: Sequence[float | None]) -> float:
        """The smallest possible fill of the fullest device, as a share of its whole.

        Unlimited devices are never full.
        """
        least = self.block_memory.at_least(self.micro_batches)
        known = ABOVE_LEAST * least_longest(
            [least / whole if whole else 0 * least for whole in wholes]
        )
        while (found := self._least_fullest(wholes, known)) > known:
            known = found if np.isfinite(found) or not known else 2 * known
        return found

    def _least_fullest(self, wholes: Sequence[float | None], known: float) -> float:
        """The same if it is at most `known`; otherwise an attainable share, or infinite."""
        most = None if None in wholes else known * max(whole for whole in wholes if whole)

        def share(device: int, held: Array) -> Array:
            whole = wholes[device]
            return np.where(np.isfinite(held), 0.0, np.inf) if whole is None else held / whole

        return float(self._reached(share, np.maximum, most)[-1][-1])

    def lacking(self) -> list[tuple[int, float]]:
        """The devices that lack memory, and how many bytes, if as little as possible is lacking."""
        reached = self._reached(self._over, np.add)
        end, found = len(reached[0]) - 1, []
        for device in reversed(range(len(self.devices))):
            held = self._held(range(end, end + 1), 0)[is_copied_to(self.devices[device].name)]
            over = self._over(device, held[0])
            begin = int((reached[device][: end + 1] + over).argmin())
            if over[begin] > 0:
                found.append((device, float(over[begin])))
            end = begin
        return found[::-1]

    def _over(self, device: int, held: Array) -> Array:
        """The bytes that blocks lack on a device."""
        limit = self.devices[device].limit
        return (
            np.where(np.isfinite(held), 0.0, np.inf)
            if limit is None
            else np.maximum(held - limit, 0.0)
        )

    def _reached(
        self, value: Callable[[int, Array], Array], join: Join, most: float | None = None
    ) -> list[Array]:
        """Entry [d][n] is the least value of placing the first n layers on the devices before d.

        A stage contributes its `value` on the device, combined with the others by `join`. Blocks
        that hold more than `most` are not needed.
        """
        layers = len(self.block_memory.work.names)
        reached = [np.append(0.0, np.full(layers, np.inf))]
        reached += [np.full(layers + 1, np.inf) for _ in self.devices]
        for ends, begin, held in self._pieces(most):
            for device, each in enumerate(self.devices):
                stages = value(device, held[is_copied_to(each.name)])
                known = reached[device][begin : ends.stop]
                reached[device + 1][ends.start : ends.stop] = join(known, stages).min(axis=1)
        return reached

    def _pieces(self, most: float | None) -> Iterator[tuple[range, int, dict[bool, Array]]]:
        """Yield pieces of the blocks that hold at most `most`: ends, first begin, and memory."""
        first = self.first(most)
        for ends in pieces(len(self.block_memory.work.names)):
            begin = int(first[ends.start])
            yield ends, begin, self._held(ends, begin)

    def _held(self, ends: range, begin: int) -> dict[bool, Array]:
        """The memory of blocks on devices of each kind; infinite where there is no block."""
        kinds = {is_copied_to(device.name) for device in self.devices}
        held = {
            copied: self.block_memory.piece(self.micro_batches, ends, begin, copied=copied)
            for copied in kinds
        }
        nowhere = np.arange(begin, ends.stop) > np.array(ends)[:, None]
        for each in held.values():
            each[nowhere] = np.inf
        return held
