"""Serializers of statistics and transfer."""

from typing import Any

from rest_framework.serializers import CharField, FloatField, IntegerField, ListField

from compute.services.stats import transfer
from config.api.fields import Absent
from config.api.serializers import Resource


def points(help_text: str) -> ListField:
    """Return the field of a chart: pairs of a time in milliseconds since 1970 and a value."""
    pair = ListField(child=FloatField(), help_text="The time in milliseconds since 1970, and the measured value.")
    return ListField(child=pair, help_text=help_text)


class Network(Resource):
    """Network traffic, in bits per second."""

    in_ = points("Public traffic to the instance.")
    out = points("Public traffic from the instance.")
    private_in = points("Private traffic to the instance.")
    private_out = points("Private traffic from the instance.")


class DiskStats(Resource):
    """Disk activity, in blocks per second."""

    io = points("Blocks read and written.")
    swap = points("Blocks swapped in and out.")


class ComputeStatsData(Resource):
    """Charts of an instance."""

    cpu = points("Percent, 100 for each core.")
    io = DiskStats(help_text="Disk operations, in blocks per second.")
    netv4 = Network(help_text="IPv4 traffic, in bits per second.")
    netv6 = Network(help_text="IPv6 traffic, in bits per second.")


class ComputeStats(Resource):
    """Statistics of an instance. The charts are in `data`. Answers never contain `cpu`, `io`, `netv4` and
    `netv6`."""

    # In the contract's schema, the charts are next to `title`. The published service answers with the charts in
    # `data`, where clients look for them.
    title = CharField()
    data = ComputeStatsData(help_text="The time series.")
    cpu = Absent(points(""), help_text="See `data`.")
    io = Absent(DiskStats(), help_text="See `data`.")
    netv4 = Absent(Network(), help_text="See `data`.")
    netv6 = Absent(Network(), help_text="See `data`.")

    class Meta:
        read_only = True


class InstanceTransfer(Resource):
    """Network transfer of an instance this month."""

    used = IntegerField(help_text="Bytes that were sent in this month.")
    quota = IntegerField(help_text="GB that the compute adds to the account's transfer pool in this month.")
    billable = IntegerField(help_text="GB beyond this quota.")

    class Meta:
        read_only = True


class MonthlyTransfer(Resource):
    """Bytes that an instance received and sent in a month."""

    bytes_in = IntegerField(help_text="Bytes that were received.")
    bytes_out = IntegerField(help_text="Bytes that were sent.")
    bytes_total = IntegerField(help_text="The sum of both.")

    class Meta:
        read_only = True


class AccountTransfer(Resource):
    """Network transfer of the account this month."""

    used = IntegerField(help_text="GB that all computes together have sent in this month.")
    quota = IntegerField(help_text="GB that all computes together may send.")
    billable = IntegerField(help_text="GB beyond this quota.")

    class Meta:
        read_only = True


def shown(allotment: transfer.Allotment) -> dict[str, Any]:
    return {"used": allotment.used, "quota": allotment.quota, "billable": allotment.billable}
