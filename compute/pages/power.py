"""Boot, reboot, shut down."""

from compute.pages.base import InstancePage
from compute.services.instances import power
from config.pages.views import VerbView


class BootView(InstancePage, VerbView):
    """``/home/instances/<id>/boot``: with the profile of the last boot, else the only one."""

    operations = frozenset({"compute_instances_boot"})

    def perform(self) -> str:
        power.boot(self.actor, self.instance)
        return f"{self.instance} is booting."


class RebootView(InstancePage, VerbView):
    """``/home/instances/<id>/reboot``."""

    operations = frozenset({"compute_instances_reboot"})

    def perform(self) -> str:
        power.reboot(self.actor, self.instance)
        return f"{self.instance} is rebooting."


class ShutdownView(InstancePage, VerbView):
    """``/home/instances/<id>/shutdown``."""

    operations = frozenset({"compute_instances_shutdown"})

    def perform(self) -> str:
        power.shutdown(self.actor, self.instance)
        return f"{self.instance} is shutting down."
