from django.apps import AppConfig


class ComputeConfig(AppConfig):
    name = "compute"

    def ready(self):
        from accounts.entities import EntityKind, register
        from compute.jobs import checks  # noqa: F401  (registers itself)
        from compute.models import Firewall, Image, Instance, NodeBalancer, StackScript, Volume

        register(EntityKind("compute", Instance, "/v4/compute/instances/{id}", grantable=True, taggable=True))
        register(EntityKind("volume", Volume, "/v4/volumes/{id}", grantable=True, taggable=True))
        register(EntityKind("nodebalancer", NodeBalancer, "/v4/nodebalancers/{id}", grantable=True, taggable=True))
        register(EntityKind("firewall", Firewall, "/v4/networking/firewalls/{id}", grantable=True))
        register(EntityKind("stackscript", StackScript, "/v4/compute/stackscripts/{id}", grantable=True))
        register(EntityKind("image", Image, "/v4/images/private/{id}", grantable=True, key="number"))
