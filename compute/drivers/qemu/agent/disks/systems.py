"""Changes of the system on a disk that is off: root's password and keys, the name, the network, the first boot.

Functions take the `Tree` of a disk that the caller has locked, and nothing is written before its `commit`. Files
that have the right content already are not written, so that every boot may repeat a change.
"""

import ipaddress
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compute.drivers.qemu.agent import checks
from compute.drivers.qemu.agent.disks.trees import Tree
from compute.drivers.qemu.agent.errors import Refused

SHADOW, KEYS, HOSTNAME, HOSTS, FSTAB = (
    "/etc/shadow", "/root/.ssh/authorized_keys", "/etc/hostname", "/etc/hosts", "/etc/fstab",
)  # fmt: skip
MAX_RESOLVERS = 3
"""The number of name servers that the C library reads from the file."""
HASH = re.compile(r"\$[a-z0-9]{1,3}\$[A-Za-z0-9./$=,+-]{8,200}")
HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,62}")
INTERFACE = re.compile(r"[a-z][a-z0-9]{0,14}")
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

FIRST_BOOT = "/usr/local/lib/skerry-first-boot"
SCRIPT = "/root/.skerry-first-boot"
LOG = "/root/StackScript.log"
UNIT = "/etc/systemd/system/skerry-first-boot.service"
LOCAL = "/etc/local.d/skerry-first-boot.start"
INTERFACES = "/etc/network/interfaces"
RESOLVERS = "/etc/resolv.conf"
NETWORKD = "/etc/systemd/network/05-skerry-{}.network"

# Renamed before it runs: if the power is cut during the first boot, the script does not run a second time
_RUN = f"""#!/bin/sh
# Runs the deployment script once, at the first boot.
test -e {SCRIPT} || exit 0
mv {SCRIPT} {SCRIPT}.running || exit 1
umask 077
export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /root
{SCRIPT}.running </dev/null >>{LOG} 2>&1
status=$?
rm -f {SCRIPT}.running
exit $status
""".encode()
_UNIT = f"""[Unit]
Description=Deployment script for the first boot
ConditionPathExists={SCRIPT}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart={FIRST_BOOT}
TimeoutStartSec=infinity
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
""".encode()
DEVICES = ("ttyS0", "sdb")
"""The devices of the console and of the swap disk, which a login and swap depend on."""
DEVICE_LIMIT = "/etc/systemd/system/dev-{}.device.d/10-skerry.conf"
_DEVICE_LIMIT = b"""\
# An emulated machine may take longer than systemd's 90 s to find its devices.
[Unit]
JobRunningTimeoutSec=10min
"""
_LOCAL = f"#!/bin/sh\n{FIRST_BOOT} &\n".encode()


@dataclass(frozen=True, slots=True)
class Network:
    """One interface of a guest. `addresses` have prefix lengths.

    `gateways` need not be in the networks of the addresses: an address may be a /32.
    """

    name: str
    mac: str
    addresses: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    resolvers: tuple[str, ...] = ()
    dhcp: bool = False
    router_advertisements: bool = False

    @classmethod
    def read(cls, given: dict[str, Any]) -> "Network":
        """Read an interface from its fields in JSON. Raises `Refused` for invalid addresses and names."""
        try:
            addresses = tuple(map(checks.interface, given.get("addresses", ())))
            gateways, resolvers = (
                tuple(map(checks.address, given.get(kind, ()))) for kind in ("gateways", "resolvers")
            )
        except ValueError as error:
            raise Refused("A network of the machine has an invalid address.") from error
        name, mac = given["name"], given["mac"]
        if not INTERFACE.fullmatch(name) or not MAC.fullmatch(mac):
            raise Refused("A network of the machine has an invalid name or MAC address.")
        asks = bool(given.get("dhcp")), bool(given.get("router_advertisements"))
        return cls(name, mac, addresses, gateways, resolvers, *asks)


def has_system(tree: Tree) -> bool:
    """Tell whether the disk contains a system with passwords."""
    return tree.is_there(SHADOW)


def set_root_hash(tree: Tree, root_hash: str) -> None:
    """Set the hash of root's password, in the form of crypt(3). `Refused` without a system."""
    if not HASH.fullmatch(root_hash):
        raise Refused("The password hash is not valid.")
    shadow = tree.read(SHADOW)
    lines = (shadow or b"").split(b"\n")
    index = next((at for at, line in enumerate(lines) if line.startswith(b"root:")), None)
    if index is None:
        raise Refused("The disk has no system with passwords.")
    fields = [*lines[index].split(b":"), *[b""] * 9][:9]
    if fields[1] == root_hash.encode():
        return
    fields[1:3] = [root_hash.encode(), str(int(time.time() // 86400)).encode()]
    lines[index] = b":".join(fields)
    tree.put(SHADOW, b"\n".join(lines))


def set_keys(tree: Tree, keys: Sequence[str]) -> None:
    """Allow logins as root by these public keys, and no others."""
    if any("\n" in key or "\r" in key for key in keys):
        raise Refused("An SSH key must be one line.")
    tree.put(KEYS, "".join(f"{key}\n" for key in keys).encode(), 0o600, folders=0o700)


def set_hostname(tree: Tree, hostname: str) -> None:
    """Set the host name, and make it resolve without a network."""
    if not HOST_NAME.fullmatch(hostname):
        raise Refused("The host name is not valid.")
    tree.put(HOSTNAME, f"{hostname}\n".encode())
    lines = [line for line in (tree.read(HOSTS) or b"127.0.0.1\tlocalhost\n").splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(b"127.0.1.1")]
    tree.put(HOSTS, b"\n".join([*kept, f"127.0.1.1\t{hostname}".encode(), b""]))


def allow_slow_devices(tree: Tree) -> None:
    """Raise systemd's time limit for the devices that a login on the console and swap depend on.

    A drop-in for each device works with systemd 234 and later. An option of the kernel's command line needs systemd
    254, and Debian 12 has 252.
    """
    if not _has_systemd(tree):
        return
    for device in DEVICES:
        with suppress(Refused):  # the path contains a link: the system boots with its own limits
            tree.put(DEVICE_LIMIT.format(device), _DEVICE_LIMIT)


def set_script(tree: Tree, script: str) -> None:
    """Install a script that runs once, as root, at the next boot, when the network is up.

    `Refused` if the system has no known way to run it.
    """
    if _has_systemd(tree):
        tree.put(UNIT, _UNIT)
        tree.link("/etc/systemd/system/multi-user.target.wants/skerry-first-boot.service", UNIT)
    elif tree.is_there("/etc/init.d/local", "/etc/local.d"):
        tree.put(LOCAL, _LOCAL, 0o755)
        if tree.is_there("/etc/runlevels/default"):
            tree.link("/etc/runlevels/default/local", "/etc/init.d/local")
    else:
        raise Refused("The system on the disk cannot run a script at its first boot.")
    tree.put(FIRST_BOOT, _RUN, 0o755)
    tree.put(SCRIPT, script.encode(), 0o700)


def set_file_system(tree: Tree, old: str, new: str) -> None:
    """Replace the UUID of the file system in /etc/fstab."""
    table = tree.read(FSTAB)
    if table is not None and old.encode() in table:
        tree.put(FSTAB, table.replace(old.encode(), new.encode()))


def set_networks(tree: Tree, networks: Sequence[Network]) -> None:
    """Write the configuration of the network. `Refused` if the system uses neither systemd-networkd nor ifup."""
    if _uses_networkd(tree):
        for network in networks:
            tree.put(NETWORKD.format(network.name), _networkd(network).encode())
    elif tree.is_there("/sbin/ifup", "/usr/sbin/ifup"):
        tree.put(INTERFACES, _interfaces(networks).encode())
    else:
        raise Refused(
            "The system on the disk uses neither systemd-networkd nor ifup, so its network cannot be configured."
        )
    _set_resolvers(tree, [each for network in networks for each in network.resolvers])


def _set_resolvers(tree: Tree, resolvers: Sequence[str]) -> None:
    """Write the name servers, unless the file is a link to a file that a service of the system writes."""
    there = tree.entry(RESOLVERS)
    if resolvers and (there is None or there.type == "regular"):
        lines = [
            "# Written by the platform at each boot",
            *(f"nameserver {each}" for each in resolvers[:MAX_RESOLVERS]),
        ]
        tree.put(RESOLVERS, "\n".join([*lines, ""]).encode())


def _has_systemd(tree: Tree) -> bool:
    return tree.is_there("/usr/lib/systemd/systemd", "/lib/systemd/systemd")


def _uses_networkd(tree: Tree) -> bool:
    wants = "/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
    return tree.is_there(wants, "/etc/systemd/system/dbus-org.freedesktop.network1.service")


def _networkd(network: Network) -> str:
    asks = "yes" if network.dhcp else "no"
    lines = ["# Written by the platform at each boot", "[Match]", f"MACAddress={network.mac}", "", "[Network]"]
    lines += [f"DHCP={asks}", f"IPv6AcceptRA={'yes' if network.router_advertisements else 'no'}"]
    lines += [f"Address={each}" for each in network.addresses]
    lines += [f"DNS={each}" for each in network.resolvers]
    for gateway in network.gateways:
        lines += ["", "[Route]", f"Gateway={gateway}", "GatewayOnLink=yes"]
    return "\n".join([*lines, ""])


def _interfaces(networks: Sequence[Network]) -> str:
    """The configuration for ifupdown and for BusyBox, whose ifup has fewer options: commands set the routes."""
    lines = ["# Written by the platform at each boot", "auto lo", "iface lo inet loopback"]
    for network in networks:
        lines += ["", f"auto {network.name}"]
        first = f"iface {network.name} inet dhcp" if network.dhcp else f"iface {network.name} inet manual"
        lines += [first, f"    up ip link set {network.name} up"]
        if network.router_advertisements:
            lines.append(f"    up echo 1 > /proc/sys/net/ipv6/conf/{network.name}/accept_ra")
        lines += [
            f"    up ip -{_family(each)} addr add {each} dev {network.name} || true" for each in network.addresses
        ]
        for each in network.gateways:
            ip = f"ip -{_family(each)}"
            lines.append(f"    up {ip} route add {each} dev {network.name} || true")
            lines.append(f"    up {ip} route add default via {each} dev {network.name} || true")
    return "\n".join([*lines, ""])


def _family(address: str) -> int:
    return ipaddress.ip_interface(address).version
