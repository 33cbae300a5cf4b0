"""The body of a rescue."""

from compute.serializers.configs import Devices
from config.api.serializers import Resource


class RescueDevices(Devices):
    """What is in which slot of a rescue. The last one is its own system's."""

    sdh = None


class RescueRequest(Resource):
    """The body of a rescue. Without `devices` it has the disks of the instance, in their order."""

    devices = RescueDevices(
        required=False,
        help_text="The disks and volumes at hand; by default all disks of the instance, in their order.",
    )
