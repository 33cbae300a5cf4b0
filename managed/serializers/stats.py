"""Serializers of statistics of managed monitoring."""

from rest_framework.serializers import IntegerField

from config.api.serializers import Resource


class Point(Resource):
    """One value of a chart."""

    x = IntegerField(help_text="Milliseconds since 1970.")
    y = IntegerField(help_text="What was measured.")


class StatsData(Resource):
    """Charts of all instances of the account together."""

    cpu = Point(many=True, help_text="Percent, 100 for each core.")
    disk = Point(many=True, help_text="Blocks a second on disks.")
    swap = Point(many=True, help_text="Blocks a second on swap disks.")
    net_in = Point(many=True, help_text="Bits a second to the computes.")
    net_out = Point(many=True, help_text="Bits a second from the computes.")


class StatsResource(Resource):
    """Five-minute sums of the last 24 hours; empty lists where there are no samples yet."""

    data = StatsData(help_text="The charts.")

    class Meta:
        read_only = True
