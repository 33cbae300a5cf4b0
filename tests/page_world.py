"""All pages of users, and an account that has something to show on each of them."""

import re
import time
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import resolve
from django.utils.http import urlencode
from django.utils.timezone import now
from django.views import View

from accounts.actors import Actor
from accounts.entities import grantable
from accounts.models import (
    Authorization,
    Event,
    GlobalGrants,
    Grant,
    Level,
    PersonalToken,
    SecurityKey,
    SSHKey,
    Ticket,
    User,
)
from accounts.pages.base import Page
from accounts.pages.objects import ObjectPage
from accounts.services import token_links
from accounts.services.users import password_path
from compute.models import (
    Domain,
    Firewall,
    Host,
    Image,
    Instance,
    IPv6Range,
    NodeBalancer,
    Sample,
    StackScript,
    UsageInterval,
    UsageStatement,
)
from compute.pages.root_passwords import SHOWN_ONCE
from compute.services.usage.reports import lines
from compute.services.usage.statements import as_json
from config.environment.openid import OpenID
from managed.models import ComputeSettings, Service
from managed.services.keys import public_key
from regions.models import Region
from tags.services import set_tags
from tests.compute.at_consoles import signed_in
from tests.compute.pages.domains.zones import add_records, domain_with_records
from tests.compute.pages.nodebalancers.balancing import add_balancer, balancer_values
from tests.compute.pages.parts import add_parts, firewall_of, instance_with_parts, path_values
from tests.config.api.routes import patterns
from tests.factories import (
    PICTURE,
    ContactFactory,
    CredentialFactory,
    DomainFactory,
    EventFactory,
    FirewallFactory,
    GlobalGrantsFactory,
    HostMigrationFactory,
    ImageFactory,
    InstanceFactory,
    InstanceTypeFactory,
    IssueFactory,
    OAuthClientFactory,
    ServiceFactory,
    StackScriptFactory,
    StackScriptRevisionFactory,
    StaffFactory,
    TicketFactory,
    TrustedDeviceFactory,
    UserFactory,
    VolumeFactory,
    token_of,
)
from tests.managed.one_of_each import measure
from tests.world import World

PROVIDER = OpenID("https://id.example.com", "our-id", "our-secret", name="Example ID")
"""A provider that pages name, and no test calls."""
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
SCRIPT = """#!/bin/sh
# <UDF name="motd" label="Message of the day" default="" example="Welcome">
# <UDF name="role" label="Role of the machine" oneof="web,database">
# <UDF name="parts" label="Parts" manyof="a,b,c" default="">
# <UDF name="db_password" label="Password of the database">
"""
MONTH = date(2024, 2, 1)
"""A month with a statement of usage."""
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
VIEWS = {
    pattern.name: (f"/{path}", view)
    for path, pattern in patterns()
    if issubclass(view := getattr(pattern.callback, "view_class", View), Page)
}
"""All pages of users by the names of their URLs: the path with its parameters, and the view."""
SHOWN = {name: path for name, (path, view) in VIEWS.items() if hasattr(view, "get")}
"""The paths that answer a GET."""
OWN_OBJECTS: dict[str, type[Model]] = {"rename-token": PersonalToken, "rename-ssh-key": SSHKey}
"""Pages about one of the user's own objects."""
WAITING = {name: {"status": Image.Status.PENDING_UPLOAD} for name in ("image-send", "image-send-command")}
"""Pages about an object of the account in a certain state."""


@dataclass(frozen=True)
class PageWorld:
    """An account with objects of every kind. `restricted` has every grant. `instance` has parts of every kind."""

    world: World
    owner: User
    restricted: User
    staff: User
    instance: Instance
    values: dict[str, Any]
    keys: dict[type[Model], int]
    """The objects of the pages that are not about the instance, by the models of the pages."""

    @property
    def of_account(self) -> dict[str, Any]:
        return {"account": self.world.account}

    @classmethod
    def of(cls, world: World, label: str = "web-1") -> "PageWorld":
        """Fill the account of the world. `label` is the instance's."""
        User.objects.filter(account=world.account).update(two_factor_auth=True)
        owner = User.objects.get(pk=world.actor.person)
        every = dict.fromkeys(GlobalGrants.names(), True)
        restricted = GlobalGrantsFactory(
            user__account=world.account, user__two_factor_auth=True, account_access=Level.READ_WRITE, **every
        ).user
        instance = instance_with_parts(world.account, label=label, image=world.image)
        domain = domain_with_records(world.account, tags=["web"], errors="The platform does not ask 10.0.0.1.")
        staff = Actor(world.account.pk, username="staff", is_staff=True)
        _, link = token_links.make_link(staff, owner, "backup", "computes:read_only account:read_write")
        values = {
            "pk": instance.pk,
            "key": link.rpartition("/")[2],
            "month": f"{MONTH:%Y-%m}",
            "user_id": restricted.pk,
            "nouns": "volumes",
            "app_id": OAuthClientFactory(account=world.account, name=label, thumbnail=PICTURE).pk,
            **resolve(password_path(UserFactory(account=world.account))).kwargs,
            **path_values(instance),
            "record": domain.records.earliest("pk").pk,
        }
        staff_user = StaffFactory(is_superuser=True)
        keys = {Firewall: firewall_of(instance).pk, IPv6Range: instance.ipv6_ranges.earliest("pk").pk}
        made = cls(world, owner, restricted, staff_user, instance, values, keys)
        HostMigrationFactory(instance=instance, when=now() + timedelta(days=3))
        made.add_more()
        values.update(balancer_values(NodeBalancer.objects.filter(account=world.account).earliest("pk")))
        return made

    def add_more(self, number: int = 1) -> None:
        """Add `number` of everything that pages show."""
        for _ in range(number):
            self._add_objects()
            for user in (self.owner, self.restricted):
                self._add_access(user)
        rows = [
            Grant(user=self.restricted, entity_type=kind.name, entity_id=key, permissions=Level.READ_WRITE)
            for kind in grantable()
            for key in kind.model._default_manager.filter(**self.of_account).values_list(kind.key, flat=True)
        ]
        Grant.objects.bulk_create(rows, ignore_conflicts=True)

    def _add_objects(self) -> None:
        account, region, count = self.world.account, self.world.region, Instance.objects.count()
        add_parts(self.instance)
        busy = InstanceFactory(account=account, label=f"busy-{count}", status="booting", image=self.world.image)
        other = InstanceFactory(
            account=account,
            label=f"other-{count}",
            status="running",
            image=ImageFactory(),
            ipv6="2001:db8:77::2/128",
        )
        add_parts(other)
        about = {"account": account, "entity_type": "compute"}
        EventFactory(
            **about, action="compute_boot", entity_id=busy.pk, entity_label=busy.label, status="started",
            percent_complete=40, username="owner",
        )  # fmt: skip
        for instance in (self.instance, other):
            set_tags(account.pk, "compute", instance.pk, ["web", f"{self.instance.label[:40]}-{count}"])
            named = {"entity_id": instance.pk, "entity_label": instance.label, "username": "owner"}
            EventFactory(**about, **named, action="compute_reboot", status="finished")
            EventFactory(
                **about, **named, action="compute_resize", status=Event.Status.FAILED, message="The host is full."
            )
        Instance.objects.filter(pk=self.instance.pk).update(tags=["web", "blue"])
        domain = Domain.objects.filter(account=account).earliest("pk")
        add_records(domain)
        EventFactory(
            account=account, entity_type="domain", entity_id=domain.pk, entity_label=domain.label,
            action="dns_zone_import", status="notification", message="12 records were imported.", username="owner",
        )  # fmt: skip
        for kind in (VolumeFactory, FirewallFactory, DomainFactory):
            kind(account=account)
        add_balancer(account, region, self.instance)
        HostMigrationFactory(instance=other, when=now() + timedelta(days=count))
        self._add_ticket(count)
        VolumeFactory(account=account, region=region, instance=other)
        FirewallFactory(account=account, on=other, status=Firewall.Status.DISABLED)
        StackScriptFactory(account=account, label=f"script-{count}", script=SCRIPT)
        self._add_revisions()
        statuses = (Image.Status.AVAILABLE, Image.Status.PENDING_UPLOAD, Image.Status.CREATING)
        for key, status in enumerate(statuses, 10 * count):
            ImageFactory(
                id=f"private/{key}", number=key, account=account, is_public=False, status=status,
                label=f"{self.instance.label[:40]}-{key}", description="Debian\nwith the shop", created_by="owner",
            )  # fmt: skip
            EventFactory(
                account=account, action="image_update", entity_type="image", entity_id=key, username="owner"
            )
        Region.objects.create(id=f"eu-{count}", country="de", capabilities=region.capabilities)
        Host.objects.create(label=f"eu-{count}-h1", region_id=f"eu-{count}")
        size = {"memory": 4096 * count, "disk": 51200 * count, "price_monthly": 10 * count}
        InstanceTypeFactory(id=f"g6-larger-{count}", label=f"Larger {count}", **size)
        self._add_samples(count)
        self._add_monitoring(other)
        self._add_usage(count, other)

    def _add_revisions(self) -> None:
        script = StackScript.objects.filter(account=self.world.account).earliest("pk")
        first = script.revisions.count() + 1
        for number in range(first, first + 3):
            StackScriptRevisionFactory(stackscript=script, number=number)
        self.values["number"] = 2

    def _add_ticket(self, count: int) -> None:
        ticket = Ticket.objects.filter(account=self.world.account).order_by("pk").first()
        ticket = ticket or TicketFactory(account=self.world.account)
        ticket.replies.create(description=f"reply {count}", created_by="support", from_staff=True)
        kept = ticket.attachments.create(name=f"{count}.txt", media_type="text/plain", size=1)
        self.values.setdefault("ticket_file", kept.key)
        TicketFactory(account=self.world.account)

    def _add_monitoring(self, instance: Instance) -> None:
        account = self.world.account
        type(account).objects.filter(pk=account.pk).update(managed=True)
        public_key(self.world.actor)
        ComputeSettings.objects.create(instance=instance, user="deploy", port=2222)
        label = f"{self.instance.label[:40]}-{Service.objects.count()}"
        contact = ContactFactory(account=account, name=label, group="on call", phone_primary="+47 22 33 44 55")
        credential = CredentialFactory(account=account, label=label)
        made = ServiceFactory(account=account, label=label, consultation_group=contact.group, notes="Restart\nit.")
        first = Service.objects.filter(account=account).earliest("pk")
        first.credentials.add(credential)
        measure(first, now() - timedelta(hours=Service.objects.count()), 20, 25, None, 31)
        open_issue = {"status": "problem", "error": "it answered 503", "checked_at": now()}
        if first == made:
            issue = IssueFactory(account=account, services=[first.pk])
            Service.objects.filter(pk=first.pk).update(**open_issue, issue=issue)
        else:
            IssueFactory(account=account, services=[made.pk, 0], closed=now())
        EventFactory(
            account=account, entity_type="managed_service", entity_id=first.pk, entity_label=first.label,
            action="account_settings_update", message="The service is down.",
        )  # fmt: skip

    def _add_usage(self, count: int, instance: Instance) -> None:
        volume, backup = instance.volumes.latest("pk"), instance.backups.latest("pk")
        ranges = instance.ipv6_ranges.latest("pk")
        keys = {"compute": instance.pk, "volume": volume.pk, "backup": backup.pk, "ipv6_range": ranges.pk}
        for kind, key in keys.items():
            UsageInterval.objects.create(
                account=self.world.account, kind=kind, resource=key, label=f"{kind}-{count}", quantity=20,
                price_hourly=Decimal("0.01"), started=now() - timedelta(hours=count),
            )  # fmt: skip
        found = [as_json(line) for line in lines(self.world.account.pk, now() - timedelta(days=1), now())]
        UsageStatement.objects.update_or_create(
            **self.of_account, month=MONTH, defaults={"total": 5, "lines": found}
        )
        UsageStatement.objects.create(**self.of_account, month=date(1990 + count, 1, 1), total=count, lines=[])

    def _add_samples(self, count: int) -> None:
        names = [field.name for field in Sample._meta.fields if field.get_internal_type() == "FloatField"]
        for number in range(6):
            at = now() - timedelta(minutes=5 * (6 * count + number))
            values = {name: float(100 * number + len(name)) for name in names}
            Sample.objects.create(instance=self.instance, at=at, span=300, **values)

    def _add_access(self, user: User) -> None:
        count = user.ssh_keys.count()
        token_of(user, "computes:read_only events:read_only", label=f"laptop-{count}")
        SSHKey.objects.create(user=user, ssh_key=KEY, label=f"key-{count}")
        credential = f"{user.pk}-{count}".encode()
        SecurityKey.objects.create(user=user, name=f"ring {count}", credential=credential, public_key=b"x")
        client = OAuthClientFactory(account=self.world.account, name=f"Dashboard {count}", thumbnail=PICTURE)
        Authorization.objects.create(user=user, client=client, scopes="computes:read_only account:read_write")
        agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
        TrustedDeviceFactory(user=user, user_agent=agent)

    def address(self, name: str, user: User) -> str:
        """Return the address of a page for a user, by the name of its URL."""
        values = self.values
        view = VIEWS[name][1]
        if name in OWN_OBJECTS:
            values = {**values, "pk": OWN_OBJECTS[name].objects.filter(user=user).earliest("pk").pk}
        elif (model := getattr(view, "model", None)) in self.keys:
            values = {**values, "pk": self.keys[model]}
        elif issubclass(view, ObjectPage) and view.model is not Instance:
            rows = view.model._default_manager.filter(**self.of_account, **WAITING.get(name, {}))
            values = {**values, "pk": rows.earliest("pk").pk}
        path = PARAMETER.sub(lambda found: str(values[found[1]]), SHOWN[name])
        query = self._query(name)
        return f"{path}?{urlencode(query, doseq=True)}" if query else path

    def _query(self, name: str) -> dict[str, Any]:
        if name in ("instances-tag", "instances-delete", "instances-states"):
            return {"id": list(Instance.objects.filter(account=self.world.account).values_list("pk", flat=True))}
        if name == "image-new":
            return {"instance": self.instance.pk}
        if name == "login":
            return {"next": "/admin/"}  # otherwise signed-in users get no form
        if name == "search":
            return {"q": "e"}
        if name == "oauth-authorize":
            client = self.world.account.oauth_clients.first()
            wish = {"response_type": "code", "client_id": client.client_id, "state": "s"}
            return wish | {"scope": "computes:read_only account:read_write domains:read_write"}
        return {}

    def browser(self, user: User) -> Client:
        """Return a browser in which the user has just signed in, and set a password that the next page shows."""
        browser = signed_in(user)
        session = browser.session
        session["confirmed"] = time.time()
        session[SHOWN_ONCE] = [self.instance.pk, "correct-horse-7-battery"]
        session.save()
        return browser
