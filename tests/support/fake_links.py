"""Fake driver functions for the links between cards, to add to a `FakeNvml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pynvml
from fake_nvml import FakeNvml

SWITCH = "switch"


@dataclass
class Ways:
    """`levels` and `statuses` by pairs of places, lower first; `links` by place.

    The far end of each NVLink, or None.

    An end is a PCI address as NVML writes it, or `switch`. None is a link that is not in use.
    """

    levels: Mapping[tuple[int, int], int] = field(default_factory=dict)
    statuses: Mapping[tuple[int, int], int] = field(default_factory=dict)
    links: Mapping[int, list[str | None]] = field(default_factory=dict)
    cpus: Mapping[int, list[int]] = field(default_factory=dict)
    nodes: Mapping[int, int] = field(default_factory=dict)
    version: int = 4


def with_ways(library: FakeNvml, ways: Ways) -> FakeNvml:
    """The library, which now knows how its cards are joined.

    It is strict: a link beyond a card's own is an error.
    """
    told = _Told(library, ways)
    library.functions |= {
        "nvmlDeviceGetTopologyCommonAncestor": told.level,
        "nvmlDeviceGetP2PStatus": told.status,
        "nvmlDeviceGetFieldValues": told.fields,
        "nvmlDeviceGetNvLinkState": told.state,
        "nvmlDeviceGetNvLinkVersion": told.version,
        "nvmlDeviceGetNvLinkRemoteDeviceType": told.kind,
        "nvmlDeviceGetNvLinkRemotePciInfo_v2": told.far_end,
        "nvmlDeviceGetCpuAffinity": told.cpus,
        "nvmlDeviceGetMemoryAffinity": told.nodes,
    }
    return library


class _Told:
    def __init__(self, library: FakeNvml, ways: Ways) -> None:
        self._library, self._ways = library, ways

    def level(self, one: Any, other: Any, level: Any) -> int:
        return _put(level, self._ways.levels.get(self._pair(one, other)))

    def status(self, one: Any, other: Any, index: Any, status: Any) -> int:
        # The index for reading; what nvidia-ml-py names so is a tuple by mistake.
        if index != 0:
            return int(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return _put(status, self._ways.statuses.get(self._pair(one, other)))

    def fields(self, handle: Any, count: Any, values: Any) -> None:
        links = self._ways.links.get(self._place(handle))
        for value in values._obj[: count.value]:
            known = value.fieldId == pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT and links is not None
            value.nvmlReturn = 0 if known else int(pynvml.NVML_ERROR_NOT_SUPPORTED)
            value.value.uiVal = len(links or ())

    def state(self, handle: Any, link: int, active: Any) -> int:
        links = self._ways.links[self._place(handle)]
        if link >= len(links):
            raise AssertionError(f"link {link} is none of the card's {len(links)}")
        return _put(active, int(links[link] is not None))

    def version(self, _handle: Any, _link: int, version: Any) -> int:
        return _put(version, self._ways.version)

    def kind(self, handle: Any, link: int, kind: Any) -> int:
        is_switch = self._ways.links[self._place(handle)][link] == SWITCH
        return _put(
            kind,
            pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
            if is_switch
            else pynvml.NVML_NVLINK_DEVICE_TYPE_GPU,
        )

    def far_end(self, handle: Any, link: int, info: Any) -> None:
        info._obj.busId = str(self._ways.links[self._place(handle)][link]).encode()

    def cpus(self, handle: Any, _size: Any, words: Any) -> int:
        known = self._ways.cpus.get(self._place(handle))
        if known is None:
            return int(pynvml.NVML_ERROR_NOT_SUPPORTED)
        for cpu in known:
            words._obj[cpu // 64] |= 1 << cpu % 64
        return 0

    def nodes(self, handle: Any, _size: Any, words: Any, _scope: Any) -> int:
        node = self._ways.nodes.get(self._place(handle))
        if node is None:
            return int(pynvml.NVML_ERROR_NOT_SUPPORTED)
        words._obj[node // 64] |= 1 << node % 64
        return 0

    def _pair(self, one: Any, other: Any) -> tuple[int, int]:
        low, high = sorted((self._place(one), self._place(other)))
        return low, high

    def _place(self, handle: Any) -> int:
        return self._library.cards.index(self._library.card(handle))


def _put(target: Any, value: int | None) -> int:
    if value is None:
        return int(pynvml.NVML_ERROR_NOT_SUPPORTED)
    target._obj.value = value
    return 0
