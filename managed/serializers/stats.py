"""Serializers of statistics of managed monitoring."""

from rest_framework.serializers import IntegerField

from config.api.serializers import Resource


class Point(Resource):
    """One value of a chart."""

    x = IntegerField(help_text="The time in milliseconds since 1970.")
    y = IntegerField(help_text="The measured value.")


class StatsData(Resource):
    """Charts of all instances of the account together."""

    cpu = Point(many=True, help_text="Percent, 100 for each core.")
    disk = Point(many=True, help_text="Disk operations, in blocks per second.")
    swap = Point(many=True, help_text="Operations on swap disks, in blocks per second.")
    net_in = Point(many=True, help_text="Traffic to the computes, in bits per second.")
    net_out = Point(many=True, help_text="Traffic from the computes, in bits per second.")


class StatsResource(Resource):
    """Five-minute sums of the last 24 hours; empty lists where there are no samples yet."""

    data = StatsData(help_text="The time series.")

    class Meta:
        read_only = True
