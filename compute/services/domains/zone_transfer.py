"""The records of a zone transfer as plain values, one message at a time.

A transfer has up to 12,000 records. As objects of dnspython and as models, four transfers at once were more than
500,000 objects. The garbage collector stopped all threads of the process for up to 170 ms to look through them. It
does not track tuples of texts and numbers once it has seen them. It sees tuples within tuples several times until
then, so a zone keeps flat ones.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import dns.exception
import dns.message
import dns.name
import dns.node
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.zone
from dns.rdtypes.ANY.SOA import SOA

from compute.services.common.dns_names import relative

Kind = dns.node.NodeKind
IN = dns.rdataclass.IN
Value: TypeAlias = str | int | None
Convert: TypeAlias = Callable[[str, str, dns.rdata.Rdata], tuple[Value, ...]]
"""Makes plain values of the name below the zone, the type, and the data of a record."""
Found: TypeAlias = tuple[str, str, int, *tuple[Value, ...]]
"""A record of a zone: its name below the zone, its type, its TTL, and the values that `Convert` made."""


class TransferredZone:
    """The zone `name`, made of the messages of a transfer.

    The rules are those of `dns.zone.from_xfr`. Equal records count once. All records of one name and type get the
    lowest TTL among them. If a name can have only one record of a type (SOA, CNAME), the last one counts. A CNAME
    replaces other records of its name, and other records replace a CNAME. Records outside the zone are ignored.
    """

    def __init__(self, name: str, convert: Convert):
        self.name, self.convert = name, convert
        self.origin = dns.name.from_text(name)
        self._soa: SOA | None = None
        self._names: dict[str, tuple[int, int, int]] = {}
        """By name: its place in the zone, and the lowest numbers of valid sets of a CNAME and of other records."""
        self._sets: dict[tuple[str, int, int], tuple[int, int]] = {}
        """By name, type, and type that a signature covers: the latest set's number, and its TTL."""
        self._records: dict[tuple[int, bytes], tuple[str, *tuple[Value, ...]]] = {}
        """By number of their set and their data: the types and values of records."""
        self._last = 0
        """Number of the set that was added last."""

    def add(self, message: dns.message.Message) -> None:
        """Add the answers of a message. The message itself is not kept."""
        for rrset in message.answer:
            self._add(rrset)

    @property
    def soa(self) -> SOA:
        """The zone's SOA record. Raises `dns.zone.NoSOA` without one."""
        if self._soa is None:
            raise dns.zone.NoSOA
        return self._soa

    def check(self) -> None:
        """Raise a `dns.exception.DNSException` if the zone has no SOA record or no name server."""
        _ = self.soa
        if not any(not name and rdtype == dns.rdatatype.NS for name, rdtype, *_ in self._valid()):
            raise dns.zone.NoNS

    def __iter__(self) -> Iterator[Found]:
        """Yield the records in the zone's order: by first mention of the name, of the type, and of the data."""
        sets = {number: (self._names[name][0], name, ttl) for name, _, number, ttl in self._valid()}
        keys = [key for key in self._records if key[0] in sets]
        keys.sort(key=lambda key: (sets[key[0]][0], key[0]))
        for key in keys:
            _, name, ttl = sets[key[0]]
            kind, *values = self._records[key]
            yield (name, kind, ttl, *values)

    def _valid(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield the name, the type, the number and the TTL of each set that no later record replaced."""
        for (name, rdtype, covers), (number, ttl) in self._sets.items():
            _, of_alias, of_others = self._names[name]
            if number >= _first(_kind_of(rdtype, covers), of_alias, of_others):
                yield name, rdtype, number, ttl

    def _add(self, rrset: dns.rrset.RRset) -> None:
        if not rrset.name.is_subdomain(self.origin):
            return
        if rrset.rdtype == dns.rdatatype.SOA and rrset.name != self.origin:
            raise dns.exception.FormError("non-origin SOA in zone transfer")
        if rrset.rdclass != IN:
            raise dns.exception.FormError("wrong rdclass in zone transfer")
        name = relative(rrset.name.to_text(), self.name)
        number = self._set_of(name, rrset)
        kind = dns.rdatatype.to_text(rrset.rdtype)
        alone = dns.rdatatype.is_singleton(rrset.rdtype)
        for data in rrset:
            if isinstance(data, SOA):
                self._soa = data
            key = (number, b"" if alone else data.to_digestable())
            if alone or key not in self._records:
                self._records[key] = (kind, *self.convert(name, kind, data))

    def _set_of(self, name: str, rrset: dns.rrset.RRset) -> int:
        """Return the number of the set of these records. A new set may replace others of its name."""
        place, of_alias, of_others = self._names.get(name, (len(self._names), 0, 0))
        kind = _kind_of(rrset.rdtype, rrset.covers)
        key = (name, int(rrset.rdtype), int(rrset.covers))
        number, ttl = self._sets.get(key, (0, 0))
        if number and number >= _first(kind, of_alias, of_others):
            ttl = min(ttl, rrset.ttl)
        else:
            self._last = number = self._last + 1
            ttl = rrset.ttl
            if kind == Kind.CNAME:
                of_others = number
            elif kind == Kind.REGULAR:
                of_alias = number
        self._names[name] = (place, of_alias, of_others)
        self._sets[key] = (number, ttl)
        return number


def read(messages: Iterable[dns.message.Message], name: str, convert: Convert) -> TransferredZone:
    """Return the zone `name` that a transfer's messages contain, with the values that `convert` makes of records.

    Raises a `dns.exception.DNSException` where the messages are no transfer.
    """
    zone = TransferredZone(name, convert)
    for message in messages:
        zone.add(message)
    zone.check()
    return zone


def _kind_of(rdtype: int, covers: int) -> Kind:
    return Kind.classify(dns.rdatatype.RdataType(rdtype), dns.rdatatype.RdataType(covers))


def _first(kind: Kind, of_alias: int, of_others: int) -> int:
    """Return the lowest number of a valid set of this kind. Nothing replaces NSEC records and the like."""
    return {Kind.CNAME: of_alias, Kind.REGULAR: of_others}.get(kind, 0)
