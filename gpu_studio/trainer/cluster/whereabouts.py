"""Where a worker is: its machine, the versions of what trains there, and a port that is free."""

from __future__ import annotations

import json
import os
import platform
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import psutil

from gpu_studio import __version__
from gpu_studio.hosts.agent import version
from gpu_studio.trainer.cluster.channel import Here
from gpu_studio.trainer.cluster.ports import held_ports

NO_PROXY = "no_grpc_proxy"
FIND_NAMES = (
    "Give the machines names that all of them find, in DNS or /etc/hosts. What Slurm calls them: "
    "scontrol show node."
)
_PACKAGES = ("tensorflow", "keras", "numpy")
_KINDS = (socket.AF_INET, socket.AF_INET6)


@dataclass
class Whereabouts:
    """The machine of this process. `node` is what Slurm calls it, empty without Slurm.

    `port` is one that TensorFlow's server alone can have while this is there; 0 without Slurm.
    """

    node: str = ""
    port: int = 0
    held: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def of_task(cls) -> Whereabouts:
        """That of a task of Slurm."""
        held = ExitStack()
        return cls(os.environ.get("SLURMD_NODENAME", ""), held_ports(held, 1)[0], held)

    def here(self) -> Here:
        """What the supervisor is told of it."""
        found = [one for each in psutil.net_if_addrs().values() for one in each]
        return Here(
            os.getpid(),
            socket.gethostname(),
            self.node,
            [each.address for each in found if each.family in _KINDS] if self.node else [],
            self.port,
            versions(),
        )


def versions() -> dict[str, str]:
    """The versions on which it depends what is trained, of those that are installed."""
    found = {name: version(name) for name in _PACKAGES}
    mine = {"GPU Studio": __version__, "Python": platform.python_version()}
    return mine | {name: each for name, each in found.items() if each is not None}


def unresolved(config: str) -> str:
    """Which machine of a TF_CONFIG this one does not find by its name, in a sentence; else empty.

    TensorFlow waits in silence for a leader whose name does not resolve.
    """
    for host in _hosts(config):
        try:
            socket.getaddrinfo(host, None)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            return f"{socket.gethostname()} does not find {host}: {why}."
    return ""


def spare_proxies(config: str) -> None:
    """Let gRPC reach the machines of a TF_CONFIG without a proxy, before TensorFlow is imported.

    It obeys `http_proxy` even for them, and waits in silence for what no proxy can reach.
    """
    there = os.environ.get(NO_PROXY, "").split(",")
    os.environ[NO_PROXY] = ",".join(dict.fromkeys(filter(None, [*there, *_hosts(config)])))


def _hosts(config: str) -> list[str]:
    cluster: Mapping[str, list[str]] = json.loads(config)["cluster"]
    every = [address.rpartition(":")[0] for each in cluster.values() for address in each]
    return list(dict.fromkeys(every))
