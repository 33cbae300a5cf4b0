"""The network interfaces of a configuration profile: checking a client's request."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Any

from compute.services.common.regions import VLANS
from config.errors import Problems
from regions.models import Region

MAX_INTERFACES = 3
PUBLIC, VLAN = "public", "vlan"
NO_VLANS = "This region does not offer VLANs."
LABEL = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)


def check_interfaces(
    interfaces: Sequence[dict[str, Any]], region: Region | None, problems: Problems
) -> list[dict[str, str]]:
    """Check a whole list of interfaces. Return it as it is stored: with every key, ``""`` if none is given.

    A profile has at most three interfaces. One of them may be public, and has neither label nor address. VLANs are
    only valid in regions that have them, each named once. Addresses are in CIDR form, each used once, in any
    spelling.

    Notes problems under ``interfaces`` and ``interfaces[0].label``; the result is valid only without problems. The
    caller reports an unknown `region` (None).
    """
    if len(interfaces) > MAX_INTERFACES:
        problems.add("interfaces", "At most three interfaces are allowed.")
    if sum(each["purpose"] == PUBLIC for each in interfaces) > 1:
        problems.add("interfaces", "Only one interface may be public.")
    kept = [{name: each.get(name) or "" for name in ("purpose", "label", "ipam_address")} for each in interfaces]
    labels: set[str] = set()
    addresses: set[Any] = set()
    for index, each in enumerate(kept):
        where = f"interfaces[{index}]"
        if each["purpose"] == PUBLIC:
            for name in ("label", "ipam_address"):
                if each[name]:
                    problems.add(f"{where}.{name}", f"A public interface has no {name}.")
            continue
        if region and VLANS not in region.capabilities:
            problems.add(f"{where}.purpose", NO_VLANS)
        _check_label(f"{where}.label", each["label"], labels, problems)
        _check_address(f"{where}.ipam_address", each["ipam_address"], addresses, problems)
    return kept


def _check_label(field: str, label: str, others: set[str], problems: Problems) -> None:
    if not label:
        problems.add(field, "label is required")
    elif not LABEL.fullmatch(label):
        problems.add(field, "label is not valid: letters, digits and - only")
    elif label in others:
        problems.add(field, "Each VLAN may have one interface only.")
    others.add(label)


def _check_address(field: str, text: str, others: set[Any], problems: Problems) -> None:
    if not text:
        return
    address, _, length = text.partition("/")
    try:
        if not re.fullmatch("[0-9]{1,3}", length, re.ASCII) or "%" in address:
            raise ValueError
        found = ipaddress.ip_interface(text).ip
    except ValueError:
        problems.add(field, "ipam_address is not valid")
        return
    if found in others:
        problems.add(field, "Each address may be used by one interface only.")
    others.add(found)
