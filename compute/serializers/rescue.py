"""The body of a rescue."""

from compute.serializers.configs import Devices
from config.api.serializers import Resource


class RescueDevices(Devices):
    """The devices in the slots of a rescue; null for an empty slot. The slot `sdh` is reserved for the rescue
    system."""

    sdh = None


class RescueRequest(Resource):
    """The body of a rescue. Without `devices`, the first seven disks are attached, in the order of creation."""

    devices = RescueDevices(
        required=False,
        help_text="The disks and volumes by device. By default the first seven disks, in the order of creation.",
    )
