"""The references by which events name the entities of this app."""

from accounts.services.events import EntityRef
from compute.models import (
    Backup,
    Config,
    Disk,
    Domain,
    DomainRecord,
    Firewall,
    Image,
    Instance,
    NodeBalancer,
    NodeBalancerConfig,
    NodeBalancerNode,
    StackScript,
    Volume,
)


def instance_ref(instance: Instance) -> EntityRef:
    return EntityRef("compute", instance.pk, instance.label, f"/v4/compute/instances/{instance.pk}")


def config_ref(config: Config | None) -> EntityRef | None:
    if config is None:
        return None
    url = f"/v4/compute/instances/{config.instance_id}/configs/{config.pk}"
    return EntityRef("compute_config", config.pk, config.label, url)


def disk_ref(disk: Disk) -> EntityRef:
    """Return a disk as the secondary entity of an event. As the main entity, its type is ``disks``."""
    return EntityRef("disk", disk.pk, disk.label, f"/v4/compute/instances/{disk.instance_id}/disks/{disk.pk}")


def image_ref(image: Image | None) -> EntityRef | None:
    if image is None:
        return None
    return EntityRef("image", image.pk, image.label, f"/v4/images/{image.pk}")


def own_image_ref(image: Image) -> EntityRef:
    """An account's own image as the entity of an event: events, like grants, name it by its number."""
    return EntityRef("image", image.own_number, image.label, f"/v4/images/{image.pk}")


def backup_ref(backup: Backup) -> EntityRef:
    url = f"/v4/compute/instances/{backup.instance_id}/backups/{backup.pk}"
    return EntityRef("backups", backup.pk, str(backup), url)


def script_ref(script: StackScript) -> EntityRef:
    return EntityRef("stackscript", script.pk, script.label, f"/v4/compute/stackscripts/{script.pk}")


def volume_ref(volume: Volume) -> EntityRef:
    return EntityRef("volume", volume.pk, volume.label, f"/v4/volumes/{volume.pk}")


def address_ref(address: str) -> EntityRef:
    """An address, or a range of them with its prefix length."""
    path = "ipv6/ranges" if "/" in address else "ips"
    return EntityRef("ipaddress", address, address, f"/v4/networking/{path}/{address}")


def domain_ref(domain: Domain) -> EntityRef:
    return EntityRef("domain", domain.pk, domain.spelling or domain.label, f"/v4/domains/{domain.pk}")


def record_ref(record: DomainRecord) -> EntityRef:
    url = f"/v4/domains/{record.domain_id}/records/{record.pk}"
    return EntityRef("domain", record.pk, str(record)[:255], url)


def balancer_ref(balancer: NodeBalancer) -> EntityRef:
    return EntityRef("nodebalancer", balancer.pk, balancer.label, f"/v4/nodebalancers/{balancer.pk}")


def balancer_config_ref(config: NodeBalancerConfig) -> EntityRef:
    url = f"/v4/nodebalancers/{config.nodebalancer_id}/configs/{config.pk}"
    return EntityRef("nodebalancer_config", config.pk, str(config), url)


def node_ref(node: NodeBalancerNode) -> EntityRef:
    url = f"/v4/nodebalancers/{node.config.nodebalancer_id}/configs/{node.config_id}/nodes/{node.pk}"
    return EntityRef("nodebalancer_node", node.pk, node.label, url)


def firewall_ref(firewall: Firewall) -> EntityRef:
    return EntityRef("firewall", firewall.pk, firewall.label, f"/v4/networking/firewalls/{firewall.pk}")
