"""What a machine says of itself, and how it reaches the others of a cluster, on their very ports.

Started once for each worker, by `python agent.py WANTED` with JSON as its argument, it prints one
line of JSON. It imports the standard library only, so that any Python runs it on any machine;
nothing is installed there. Agents find each other by the files that they write into the folder
that the machines share: if they do not share it, they do not find each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = ("gpu-studio", "tensorflow", "keras", "numpy")
MOST_CODE = 1 << 20
"""Bytes of a file of code that are looked at."""
END_BYTES = 1 << 20
MOST_FILES = 20_000
CONNECT_S = 3.0
CARDS_S = 5.0
_TICK_S = 0.02
NO_FILE = "! there is no such file"


def facts(folder: str, data: list[str], code: list[str]) -> dict[str, Any]:
    """What this machine says of itself. `data` and `code` are files, or folders of data."""
    return {
        "host": socket.gethostname(),
        "versions": {"python": platform.python_version(), **{n: version(n) for n in PACKAGES}},
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "free_bytes": free_memory(),
        "disk_free_bytes": free_on_disk(folder),
        "writable": os.access(folder, os.W_OK | os.X_OK),
        "proxies": {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")},
        "route": default_address(),
        "cards": cards(),
        "data": {name: digest_of_data(name) for name in data},
        "code": {name: digest_of_file(name) for name in code},
    }


def cards() -> list[dict[str, Any]]:
    """The NVIDIA cards: name, memory in MiB and how much of it is in use. Empty without any."""
    asked = ["nvidia-smi", "--query-gpu=name,memory.total,memory.used"]
    try:
        said = subprocess.run(
            [*asked, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=CARDS_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[each.strip() for each in line.rsplit(",", 2)] for line in said.splitlines()]
    return [
        {"name": name, "total_mib": int(total), "used_mib": int(used)}
        for name, total, used in rows
        if total.isdecimal() and used.isdecimal()
    ]


def version(package: str) -> str | None:
    """The version of an installed package; None if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def free_memory() -> int:
    """The bytes that programs can still take."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    held = dict(line.split(":", 1) for line in lines)
    return int(held["MemAvailable"].split()[0]) * 1024


def free_on_disk(folder: str) -> int | None:
    """The free bytes of the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def default_address() -> str:
    """The address from which this machine speaks to others; empty if it has none.

    Nothing is sent: a socket for datagrams only asks which way they would go.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(asking.getsockname()[0])


def digest_of_file(name: str) -> str:
    """A digest of all that a file of code holds, or why it cannot be read."""
    if not Path(name).is_file():  # a pipe would be read for ever
        return NO_FILE
    try:
        with Path(name).open("rb") as file:
            # What is longer is no program, and no run takes it for one.
            return hashlib.sha256(file.read(MOST_CODE)).hexdigest()
    except OSError as error:
        return f"! {error.strerror}"


def digest_of_data(name: str) -> str:
    """A digest of the size and both ends of a file, or of the names and sizes below a folder."""
    path, found = Path(name), hashlib.sha256()
    try:
        if path.is_dir():
            for each in _sizes(path):
                found.update(each.encode("utf-8", "surrogateescape"))
            return found.hexdigest()
        if not path.is_file():
            return NO_FILE
        size = path.stat().st_size
        with path.open("rb") as file:
            found.update(b"%d" % size + file.read(END_BYTES))
            file.seek(max(0, size - END_BYTES))
            found.update(file.read(END_BYTES))
    except OSError as error:
        return f"! {error.strerror}"
    return found.hexdigest()


def _sizes(folder: Path) -> list[str]:
    found = []
    for above, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(above, name)
            found.append(f"{path.relative_to(folder)} {path.stat().st_size}\n")
            if len(found) >= MOST_FILES:
                return found
    return found


class Listener:
    """Answers on a port of all interfaces, as TensorFlow's server will."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.error = ""
        try:
            self.socket.bind(("", port))
            self.socket.listen(64)
        except OSError as error:
            self.error = error.strerror or str(error)
            self.socket.close()
            return
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.socket.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            with one, contextlib.suppress(OSError):
                one.settimeout(CONNECT_S)
                one.recv(1)
                one.sendall(b"%r" % time.time())

    def close(self) -> None:
        """Listen no more."""
        if not self.error:
            self.socket.shutdown(socket.SHUT_RDWR)  # or whoever waits in `accept` would for ever
            self.thread.join()
        self.socket.close()


def reached(address: str, port: int) -> dict[str, Any]:
    """How another machine is reached: the round trip in s and its clock against this one's.

    A clock's offset is right to half a round trip. What keeps it from being reached is an `error`.
    """
    began = time.perf_counter()
    try:
        with socket.create_connection((address, port), timeout=CONNECT_S) as one:
            asked = time.time()
            one.sendall(b"?")
            their_time = float(one.recv(64))
            half = (time.time() - asked) / 2
            return {
                "seconds": time.perf_counter() - began,
                "clock": their_time - asked - half,
                "from": one.getsockname()[0],
            }
    except socket.gaierror as error:
        return {"error": f"its name does not resolve ({error.strerror})"}
    except TimeoutError:
        return {"error": f"no answer in {CONNECT_S:.0f} s"}
    except (OSError, ValueError) as error:
        return {"error": (getattr(error, "strerror", None) or str(error)).lower()}


def meet(wanted: dict[str, Any], found: dict[str, Any], listener: Listener) -> None:
    """Wait for the others' files, reach each of them, and wait until all have."""
    folder, index, count = Path(wanted["shared"]), wanted["index"], wanted["count"]
    _write(folder / f"{index}.here", {"address": wanted["address"], "port": found["port"]})
    _wait(folder, "here", count, wanted["within"])
    others = [each for each in range(count) if each != index]
    there = {each: folder / f"{each}.here" for each in others}
    places = {n: json.loads(path.read_text()) for n, path in there.items() if path.exists()}
    found["missing"] = [each for each in others if each not in places]
    found["reached"] = {
        str(number): reached(place["address"], place["port"])
        for number, place in places.items()
        if place["port"]
    }
    # Others may be on their way to this one.
    _write(folder / f"{index}.done", {})
    _wait(folder, "done", count - len(found["missing"]), wanted["within"])
    listener.close()


def _write(path: Path, content: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.replace(path)


def _wait(folder: Path, suffix: str, count: int, within: float) -> None:
    end = time.monotonic() + within
    while len(list(folder.glob(f"*.{suffix}"))) < count and time.monotonic() < end:
        time.sleep(_TICK_S)


def of_slurm(environment: Mapping[str, str]) -> dict[str, Any]:
    """The number, address and port of a task: those that its worker will have."""
    node, number = environment["SLURMD_NODENAME"], int(environment["SLURM_PROCID"])
    asked = ["scontrol", "-o", "show", "node", node]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    address = next(word.partition("=")[2] for word in said if word.startswith("NodeAddr="))
    port = 10_000 + int(environment["SLURM_JOB_ID"]) % 220 * 100 + number
    return {"index": number, "address": address, "port": port}


def main() -> None:
    """Examine this machine, and print what was found."""
    wanted = json.loads(sys.argv[1])
    if "index" not in wanted:
        wanted |= of_slurm(os.environ)
    found = facts(wanted["folder"], wanted["data"], wanted["code"])
    listener = Listener(wanted["port"])
    found |= {"index": wanted["index"], "address": wanted["address"]}
    found |= {"port": 0 if listener.error else listener.port, "port_error": listener.error}
    found |= {"missing": [], "reached": {}}
    meet(wanted, found, listener)
    print(json.dumps(found), flush=True)  # noqa: T201 - that is its answer


if __name__ == "__main__":
    main()
