"""What would keep the workers of a cluster from training, judged by what their machines report.

Pure: views in, findings out, in the order in which they would hurt. TensorFlow itself waits in
silence for a worker that is not there, whose name does not resolve, or whose port is closed.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_studio.common.figures import GIB, size, size_from_mib, span
from gpu_studio.hardware.doctor.findings import Finding
from gpu_studio.hosts.views import UNREAD, HostView
from gpu_studio.plan import Cluster, listed

LEAST_MEMORY = GIB
"""What a worker takes at least: TensorFlow alone takes half of it."""
LEAST_DISK = GIB
MOST_CLOCK_S = 1.0
MOST_CARD_USED = 0.1
"""What a card's driver and desktop hold is less than this share of it."""
OPEN = "TensorFlow's workers listen on every interface and ask for no password"
NEEDED = ("tensorflow", "keras")


def findings_of(cluster: Cluster, views: Sequence[HostView]) -> list[Finding]:
    """Everything that the views tell, good and bad. There is one view for each worker."""
    checks = (
        _reach,
        _versions,
        _same,
        _memory,
        _cards,
        _disk,
        _load,
        _clocks,
        _proxies,
    )
    found = [finding for check in checks for finding in check(views)]
    there = [*_there(cluster, views), *_ports(cluster, views)]
    return [*there, *found, *exposure(cluster, views)]


def _there(cluster: Cluster, views: Sequence[HostView]) -> Iterator[Finding]:
    there = {view.index for view in views}
    missing = [index for index in range(cluster.processes) if index not in there]
    if missing:
        found = f"Of {cluster.processes} workers {_workers(missing)} did not answer."
        yield Finding(
            "hosts", "bad", "Workers", found, ("Look whether Python starts there at all.",)
        )
        return
    where = Counter(view.host for view in views)
    hosts = listed(f"{host} ({count})" if count > 1 else host for host, count in where.items())
    yield Finding("hosts", "good", "Workers", f"All {cluster.processes} answered: {hosts}.")


def _ports(cluster: Cluster, views: Sequence[HostView]) -> Iterator[Finding]:
    bad = [view for view in views if view.port_error]
    for view in bad:
        port = f"port {cluster.port + view.index} of " if cluster.port else ""
        yield Finding(
            "port",
            "bad",
            "Port",
            f"Worker {view.index} cannot listen on {port}{view.host}: {view.port_error.lower()}.",
            (
                "End the program that listens there, or",
                "set cluster.port = 0, which takes free ones.",
            ),
        )
    if views and not bad:
        yield Finding("port", "good", "Ports", "They are free.")


def _reach(views: Sequence[HostView]) -> Iterator[Finding]:
    names = {view.index: view for view in views}
    links = 0
    bad = any(view.port_error for view in views)
    for view in views:
        if view.missing:
            bad = True
            yield _not_met(view)
        for number, link in view.reached.items():
            other = names.get(number)
            if link.error and other is not None:
                bad = True
                yield _not_reached(view, other, link.error)
            links += not link.error
    if links and not bad:
        slowest = max(link.seconds for view in views for link in view.reached.values())
        found = f"Each worker reaches each, both ways; the slowest answer took {span(slowest)}."
        yield Finding("reach", "good", "Between workers", found)


def _not_met(view: HostView) -> Finding:
    return Finding(
        "folder",
        "bad",
        "Shared folder",
        f"Worker {view.index} on {view.host} does not see what {_workers(view.missing)} wrote: "
        "the folder is not the same on all machines.",
        ("Name a folder that all of them share.",),
    )


def _not_reached(view: HostView, other: HostView, error: str) -> Finding:
    mends = {
        "no answer": "Open the port in the firewall, or name the address of the other network.",
        "its name": f"Give {other.address} an entry in /etc/hosts or DNS of {view.host}.",
    }
    mend = next((text for key, text in mends.items() if error.startswith(key)), None)
    return Finding(
        "reach",
        "bad",
        "Between workers",
        f"From {view.host}, {other.host} is not reached at {other.address}:{other.port}: {error}.",
        (mend or f"Look whether {other.host} lets {view.host} in.",),
    )


def _versions(views: Sequence[HostView]) -> Iterator[Finding]:
    bad = False
    for name in NEEDED:
        without = sorted({view.host for view in views if view.versions.get(name) is None})
        if without:
            bad = True
            yield Finding(
                "versions",
                "bad",
                "Versions",
                f"{name} is not installed for the Python of {listed(without)}.",
                (f"pip install {name}",),
            )
    for name in sorted({each for view in views for each in view.versions}):
        held = {view.host: view.versions.get(name) for view in views}
        there = {version for version in held.values() if version is not None}
        if len(there) > 1:
            bad = True
            pairs = listed(f"{version} on {host}" for host, version in held.items())
            found = f"{name} differs: {pairs}. Workers of different versions may wait for ever."
            mend = f"Install one version of {name} everywhere."
            yield Finding("versions", "bad", "Versions", found, (mend,))
    if views and not bad:
        first = views[0].versions
        versions = listed(
            f"{name} {first[name]}" for name in ("python", *NEEDED) if first.get(name)
        )
        yield Finding("versions", "good", "Versions", f"{versions}{_everywhere(views)}.")


def _same(views: Sequence[HostView]) -> Iterator[Finding]:
    """Data and code are there, and the same everywhere."""
    for check, title in (("data", "Data"), ("code", "Your code")):
        digests = [(view, getattr(view, check)) for view in views]
        names = sorted({name for _, of_view in digests for name in of_view})
        bad = [found for name in names for found in _unlike(check, title, name, digests)]
        yield from bad
        if names and not bad:
            found = f"{listed(names)}: there{', the same' if len(views) > 1 else ''}"
            yield Finding(check, "good", title, f"{found}{_everywhere(views)}.")


def _unlike(
    check: str, title: str, name: str, found_on: Sequence[tuple[HostView, dict[str, str]]]
) -> Iterator[Finding]:
    digests = {view.host: held.get(name, UNREAD) for view, held in found_on}
    unread = {host: each for host, each in digests.items() if each.startswith(UNREAD)}
    for host, why in unread.items():
        reason = why.removeprefix(UNREAD).strip().lower() or "it was not looked for"
        found = f"{name} cannot be read on {host}: {reason}."
        yield Finding(check, "bad", title, found, ("Copy it there, under the same path.",))
    if len({each for host, each in digests.items() if host not in unread}) > 1:
        found = f"{name} is another on {listed(_others(digests, unread))} than on the rest."
        mend = "Copy one of them to all machines, under the same path."
        yield Finding(check, "bad", title, found, (mend,))


def _others(digests: dict[str, str], unread: dict[str, str]) -> list[str]:
    """The machines that hold what fewer hold."""
    usual, _ = Counter(each for host, each in digests.items() if host not in unread).most_common(1)[
        0
    ]
    return [host for host, each in digests.items() if each != usual and host not in unread]


def _memory(views: Sequence[HostView]) -> Iterator[Finding]:
    on_host = Counter(view.host for view in views)
    for host, count in on_host.items():
        free = min(view.free_bytes for view in views if view.host == host)
        each = f"{size(free)} of memory for {count} worker{'s' if count > 1 else ''}"
        if free < count * LEAST_MEMORY:
            found = f"On {host} there is only {each}: TensorFlow alone takes half a GiB of each."
            mend = "End other programs there, or take fewer workers."
            yield Finding("memory", "warning", "Memory", found, (mend,))
        else:
            yield Finding("memory", "good", "Memory", f"{host} has {each}.")


def _cards(views: Sequence[HostView]) -> Iterator[Finding]:
    kinds = {view.host: tuple(sorted(card.name for card in view.cards)) for view in views}
    if len(set(kinds.values())) > 1:
        cards = listed(f"{host}: {listed(names) or 'none'}" for host, names in kinds.items())
        found = f"The machines have different cards ({cards}): each step waits for the slowest."
        mend = "Ask for machines that are alike."
        yield Finding("cards", "warning", "Cards", found, (mend,))
    for host, view in {view.host: view for view in views}.items():
        for number, card in enumerate(view.cards):
            if card.used_mib > card.total_mib * MOST_CARD_USED:
                held = f"{size_from_mib(card.used_mib)} of {size_from_mib(card.total_mib)}"
                found = f"Other programs hold {held} on card {number} of {host} ({card.name})."
                mend = "nvidia-smi tells which."
                yield Finding("cards", "warning", "Cards", found, (mend,))


def _disk(views: Sequence[HostView]) -> Iterator[Finding]:
    by_host: dict[str, HostView] = {view.host: view for view in views}
    for host, view in by_host.items():
        if view.disk_free_bytes is None or not view.writable:
            found = f"On {host} the folder of the run cannot be written into."
            yield Finding("room", "bad", "Folder", found, ("Choose another, or make it yours.",))
        elif view.disk_free_bytes < LEAST_DISK:
            left = size(view.disk_free_bytes)
            found = f"On {host} there is only {left} left on the disk for the run."
            yield Finding("room", "warning", "Folder", found, ("Delete runs that are done with.",))


def _load(views: Sequence[HostView]) -> Iterator[Finding]:
    by_host: dict[str, HostView] = {view.host: view for view in views}
    for host, view in by_host.items():
        if view.load > view.cores:
            found = (
                f"The load of {host} is {view.load:.1f} on {view.cores} "
                f"core{'s' if view.cores > 1 else ''}: that slows the workers on it."
            )
            mend = "Look at what else runs there."
            yield Finding("load", "warning", "Load", found, (mend,))


def _clocks(views: Sequence[HostView]) -> Iterator[Finding]:
    hosts = {view.index: view.host for view in views}
    reported: set[str] = set()
    for view in views[:1]:
        for number, link in view.reached.items():
            host = hosts.get(number, str(number))
            least = abs(link.clock) - link.seconds / 2  # as far as the way there lets it be known
            if not link.error and least > MOST_CLOCK_S and host not in reported:
                reported.add(host)
                found = f"The clock of {host} is {link.clock:+.1f} s off that of {view.host}."
                mend = "Let NTP set it, or logs cannot be laid side by side."
                yield Finding("clock", "warning", "Clock", found, (mend,))


def _proxies(views: Sequence[HostView]) -> Iterator[Finding]:
    for host, view in {view.host: view for view in views}.items():
        names = sorted(name for name in view.proxies if name.lower() != "no_proxy")
        spared = next((v for k, v in view.proxies.items() if k.lower() == "no_proxy"), "")
        # Workers of one machine are started so that they reach each other without a proxy.
        addresses = {each.address for each in views if not is_loopback(each.address)}
        if names and not addresses <= set(spared.replace(" ", "").split(",")):
            verb = "names" if len(names) == 1 else "name"
            found = f"On {host}, {listed(names)} {verb} a proxy, which TensorFlow asks for workers."
            mend = f"export no_proxy={','.join(sorted(addresses))}"
            yield Finding("proxy", "warning", "Proxy", found, (mend,))


def exposure(cluster: Cluster, views: Sequence[HostView]) -> Iterator[Finding]:
    """Who can reach the workers' ports."""
    addresses = sorted({each for view in views for each in (view.address, view.route) if each})
    every = {*addresses, *(each for view in views for each in view.interfaces)}
    public = sorted(each for each in every if is_public(each))
    others = [each for each in addresses if not is_loopback(each)]
    if cluster.trusted_network:
        found = f"{OPEN}; the plan says that the network is trusted."
        yield Finding("exposed", "good", "Network", found)
    elif public:
        found = (
            f"{listed(public)} can be reached from the internet. {OPEN}: whoever reaches a port "
            "can run what they like as you."
        )
        mend = "Close the ports by a firewall, then set cluster.trusted_network = true."
        yield Finding("exposed", "bad", "Network", found, (mend,))
    elif others:
        found = (
            f"{OPEN}: whoever reaches {listed(others)} can run what they like as you while they "
            "train."
        )
        mend = "Where only you can, set cluster.trusted_network = true."
        yield Finding("exposed", "warning", "Network", found, (mend,))
    elif views:
        yield Finding("exposed", "good", "Network", "Only this machine reaches the workers.")


def is_public(address: str) -> bool:
    """Whether the internet may reach an address. A name is none."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_global
    except ValueError:
        return False


def is_loopback(address: str) -> bool:
    """Whether only the machine itself reaches an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _everywhere(views: Sequence[HostView]) -> str:
    return " everywhere" if len({view.host for view in views}) > 1 else ""


def _workers(numbers: Sequence[int]) -> str:
    return f"worker{'s' if len(numbers) > 1 else ''} {listed(map(str, numbers))}"
