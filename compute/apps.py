from django.apps import AppConfig


class ComputeConfig(AppConfig):
    name = "compute"

    def ready(self) -> None:
        from compute import checks  # noqa: F401  (registers them)
        from compute.services.catalogue.examples import installed_ids as ids_of_catalogue
        from compute.services.hosts.addresses import reached_at
        from compute.worker import kinds  # noqa: F401  (registers them)
        from config import word
        from config.api.examples import installed_ids
        from config.egress import guard
        from tags.resources import show_with

        if word.IS_SET:
            from compute.worker import watchdog  # noqa: F401  (declares sentences)

        self._register_kinds()
        guard.add_source(reached_at)
        installed_ids.source = ids_of_catalogue
        show_with("compute", "compute.serializers.instances.InstanceResource")
        show_with("domain", "compute.serializers.domains.domains.DomainResource")
        show_with("nodebalancer", "compute.serializers.nodebalancers.nodebalancers.NodeBalancerResource")
        show_with("volume", "compute.serializers.volumes.VolumeResource")

    def _register_kinds(self) -> None:
        from accounts.entities import EntityKind, register
        from compute.models import (
            VLAN,
            Domain,
            Firewall,
            Image,
            Instance,
            NodeBalancer,
            StackScript,
            StackScriptRevision,
            Volume,
        )

        for kind in (
            EntityKind("compute", Instance, "/v4/compute/instances/{id}", grantable=True, noun="instances",
                page="instance", blocks_closing="instance"),
            EntityKind("volume", Volume, "/v4/volumes/{id}", grantable=True, noun="volumes", page="volume",
                blocks_closing="volume"),
            EntityKind("nodebalancer", NodeBalancer, "/v4/nodebalancers/{id}", grantable=True,
                noun="load-balancers", page="load-balancer", blocks_closing="load balancer"),
            EntityKind("domain", Domain, "/v4/domains/{id}", grantable=True, noun="domains", page="domain",
                blocks_closing="domain"),
            EntityKind("vlan", VLAN, "/v4/networking/vlans", key="label", noun="vlans"),
            EntityKind("firewall", Firewall, "/v4/networking/firewalls/{id}", grantable=True, noun="firewalls",
                page="firewall"),
            EntityKind("stackscript", StackScript, "/v4/compute/stackscripts/{id}", grantable=True,
                author="username", authored=((StackScriptRevision, "stackscript"),), noun="scripts", page="script"),
            EntityKind("image", Image, "/v4/images/private/{id}", grantable=True, key="number", author="created_by",
                prefix="private/", noun="images", page="image", blocks_closing="image"),
        ):  # fmt: skip
            register(kind)
