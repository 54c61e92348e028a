"""Block the network in tests: sockets of this process connect to the loopback only."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest

# Programs that a test starts are not guarded; those that heed proxies find one that refuses at
# once.
CLOSED_PROXY = "http://127.0.0.1:9"
PROXY_VARIABLES = ("http_proxy", "https_proxy", "ftp_proxy", "HTTP_PROXY", "HTTPS_PROXY")

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo


class NetworkRefusedError(OSError):
    """A test wanted to leave the machine.

    It is an `OSError`, as a machine without network would raise.
    """


def is_local(host: Any) -> bool:
    """Whether a host, by name or by number, is this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(name).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def install(patch: pytest.MonkeyPatch) -> None:
    """Guard this process's sockets until `patch` is undone."""
    patch.setattr(socket.socket, "connect", _guarded_connect)
    patch.setattr(socket.socket, "connect_ex", _guarded_connect_ex)
    patch.setattr(socket, "getaddrinfo", _guarded_getaddrinfo)
    for variable in PROXY_VARIABLES:
        patch.setenv(variable, CLOSED_PROXY)
    patch.setenv("no_proxy", "localhost,127.0.0.1,::1")


def _guarded_connect(self: socket.socket, address: Any) -> None:
    _check(self, address)
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> int:
    _check(self, address)
    return _connect_ex(self, address)


def _guarded_getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> Any:
    if not is_local(host):
        raise NetworkRefusedError(_sentence(host))
    return _getaddrinfo(host, port, *args, **options)


def _check(connecting: socket.socket, address: Any) -> None:
    if connecting.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
        raise NetworkRefusedError(_sentence(address[0]))


def _sentence(host: Any) -> str:
    return (
        f"a test wanted to reach {host}: tests stay on this machine; use localhost, or bundled data"
    )
