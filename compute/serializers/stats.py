"""Statistics and transfer on the wire."""

from typing import Any

from rest_framework.serializers import CharField, FloatField, IntegerField, ListField

from compute.services.stats import transfer
from config.api.fields import Absent
from config.api.serializers import Resource


def points(help_text: str) -> ListField:
    """Return the field of a chart: pairs of a time in milliseconds since 1970 and a value."""
    pair = ListField(child=FloatField(), help_text="Milliseconds since 1970, and what was measured.")
    return ListField(child=pair, help_text=help_text)


class Network(Resource):
    """Network traffic, in bits a second."""

    in_ = points("Public traffic to the instance.")
    out = points("Public traffic from the instance.")
    private_in = points("Private traffic to the instance.")
    private_out = points("Private traffic from the instance.")


class DiskStats(Resource):
    """Disk activity, in blocks a second."""

    io = points("Blocks read and written.")
    swap = points("Blocks swapped in and out.")


class ComputeStatsData(Resource):
    """Charts of an instance."""

    cpu = points("Percent, 100 for each core.")
    io = DiskStats(help_text="What disks did, in blocks a second.")
    netv4 = Network(help_text="IPv4 traffic, in bits a second.")
    netv6 = Network(help_text="IPv6 traffic, in bits a second.")


class ComputeStats(Resource):
    """Statistics of an instance. The contract's schema has the charts beside the title. The published service
    answers with the charts in `data`, where clients look for them."""

    title = CharField()
    data = ComputeStatsData(help_text="The charts.")
    cpu = Absent(points(""), help_text="See `data`.")
    io = Absent(DiskStats(), help_text="See `data`.")
    netv4 = Absent(Network(), help_text="See `data`.")
    netv6 = Absent(Network(), help_text="See `data`.")

    class Meta:
        read_only = True


class InstanceTransfer(Resource):
    """Network transfer of an instance this month."""

    used = IntegerField(help_text="Bytes that were sent this month.")
    quota = IntegerField(help_text="GB that the compute adds to the account's pool this month.")
    billable = IntegerField(help_text="GB beyond that.")

    class Meta:
        read_only = True


class MonthlyTransfer(Resource):
    """Bytes that an instance received and sent in a month."""

    bytes_in = IntegerField(help_text="Bytes that were received.")
    bytes_out = IntegerField(help_text="Bytes that were sent.")
    bytes_total = IntegerField(help_text="Both together.")

    class Meta:
        read_only = True


class AccountTransfer(Resource):
    """Network transfer of the account this month."""

    used = IntegerField(help_text="GB that all computes together have sent this month.")
    quota = IntegerField(help_text="GB that they may send together.")
    billable = IntegerField(help_text="GB beyond that.")

    class Meta:
        read_only = True


def shown(allotment: transfer.Allotment) -> dict[str, Any]:
    return {"used": allotment.used, "quota": allotment.quota, "billable": allotment.billable}
