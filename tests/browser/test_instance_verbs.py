"""Each verb of an instance, pressed in a browser: a few journeys that take several on their way, with a worker that
runs the jobs. `VERBS` says which journey takes which, and a guard compares them with the pages."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.urls import URLPattern, resolve, reverse
from selenium.webdriver.common.by import By

from accounts.models import User
from compute.models import Instance
from compute.pages import part_urls, urls
from compute.pages.base import InstancePage
from compute.pages.selections import SelectionPage
from tests.browser.visitor import Visitor
from tests.browser.worker import Worker
from tests.factories import (
    AddressPoolFactory,
    FirewallFactory,
    HostFactory,
    InstanceTypeFactory,
    RegionFactory,
)
from tests.world import STRONG, World

pytestmark = pytest.mark.browser

VERBS = {
    "test_power": {
        "instance-boot", "instance-reboot", "instance-reboot-profile", "instance-rescue", "instance-shutdown",
        "instance-boot-profile",
    },
    "test_life": {
        "instance-password", "instance-rebuild", "instance-clone", "instance-upgrade", "instance-resize",
        "instance-migrate", "instance-delete",
    },
    "test_storage": {
        "instance-disk-new", "instance-disk-edit", "instance-disk-resize", "instance-disk-clone",
        "instance-disk-password", "instance-disk-image", "instance-disk-delete", "instance-volume-new",
        "instance-volume-detach", "instance-volume-attach",
    },
    "test_profiles_and_backups": {
        "instance-config-new", "instance-config-edit", "instance-config-boot", "instance-config-reboot",
        "instance-config-delete", "instance-backups-enable", "instance-backups-schedule",
        "instance-backups-snapshot", "instance-backup-restore", "instance-backups-cancel",
    },
    "test_network": {
        "instance-address-new", "instance-address-rdns", "instance-address-move", "instance-address-delete",
        "instance-addresses-share", "instance-range-new", "instance-range-delete", "instance-firewall-add",
        "instance-firewall-remove",
    },
    "test_settings_and_selections": {
        "instance-settings", "instance-alerts", "instance-watchdog", "instances-selected", "instances-tag",
        "instances-delete",
    },
}  # fmt: skip
"""The journeys below, with the names of the pages whose verbs they press."""

TARGET = "arguments[0].scrollIntoView({block: 'center'}); return arguments[0].form.action"
"""Moves a button away from the bar at the top, and returns the address that its form is sent to."""


class Journey:
    """Somebody at the pages of an instance that is off. `pressed` has the pages whose verb was taken."""

    def __init__(self, visitor: Visitor, worker: Worker, instance: Instance):
        self.visitor, self.worker, self.instance = visitor, worker, instance
        self.pressed: set[str] = set()

    def visit(self, page: str = "instance") -> None:
        self.visitor.visit(reverse(page, args=[self.instance.pk]))

    def press(self, words: str, outcome: str) -> None:
        """Press the button of a verb, and read on the next page what became of it."""
        button = self.visitor.button(words)
        target = self.visitor.driver.execute_script(TARGET, button)
        with self.visitor.leaving():
            button.click()
        assert outcome in self.shown, self.shown
        self.pressed.add(resolve(urlsplit(target).path).url_name)

    def act(self, row: str, verb: str) -> None:
        """Open the menu of a row, and follow an entry of it."""
        self.open_menu(row)
        self.visitor.follow(verb)

    def open_menu(self, row: str) -> None:
        self.visitor.driver.find_element(By.CSS_SELECTOR, f"[aria-label='Actions of {row}']").click()

    def more(self, verb: str) -> None:
        """Follow an entry of the menu of the instance."""
        self.visit()
        self.visitor.open("More")
        self.visitor.follow(verb)

    def run_jobs(self, status: str, page: str = "instance") -> None:
        """Have the jobs run, and see the status that the instance has then."""
        self.worker.run_jobs()
        self.visit(page)
        shown = self.visitor.driver.find_element(By.CSS_SELECTOR, "#state .head-title").text
        assert shown.split() == [self.label, *status.split()]

    @property
    def label(self) -> str:
        self.instance.refresh_from_db()
        return self.instance.label

    @property
    def shown(self) -> str:
        return str(self.visitor.driver.execute_script("return document.querySelector('main').innerText"))


@pytest.fixture
def journey(request, world: World, visitor: Visitor, worker: Worker) -> Iterator[Journey]:
    instance = world.create(label="web-1", booted=False)
    worker.run_jobs()
    visitor.arrive_as(User.objects.get(pk=world.actor.user_id))
    journey = Journey(visitor, worker, instance)
    yield journey
    assert journey.pressed == VERBS[request.function.__name__]


def test_power(journey: Journey):
    visitor = journey.visitor
    journey.visit()
    journey.press("Boot", "web-1 is booting.")
    journey.run_jobs("running")
    visitor.open("Reboot")
    journey.press("Yes, reboot", "web-1 is rebooting.")
    journey.run_jobs("running")
    visitor.open("More")
    visitor.follow("Reboot with profile")
    journey.press("Reboot", "web-1 is rebooting.")
    journey.run_jobs("running")
    visitor.open("More")
    visitor.follow("Rescue")
    journey.press("Boot into rescue", "web-1 is booting into rescue.")
    journey.run_jobs("running")
    visitor.open("Shut down")
    journey.press("Yes, shut down", "web-1 is shutting down.")
    journey.run_jobs("offline")
    visitor.open("More")
    visitor.follow("Boot with profile")
    journey.press("Boot", "web-1 is booting.")
    journey.run_jobs("running")


def test_life(journey: Journey, world: World):
    visitor = journey.visitor
    journey.more("Root password")
    visitor.tick("Generate a password, and show it once")
    journey.press("Set password", "Root password")
    assert len(visitor.words_of("root-password")) > 10
    journey.run_jobs("offline")

    journey.more("Rebuild")
    visitor.choose("Image", world.image.label)
    visitor.type("Root password", STRONG)
    visitor.tick("Boot the instance at the end")
    visitor.tick("Delete all disks and configuration profiles")
    journey.press("Rebuild", "web-1 is being rebuilt.")
    journey.run_jobs("offline")

    journey.more("Clone")
    visitor.type("Label of the new instance", "web-2")
    journey.press("Clone", "web-1 is being cloned into web-2.")
    journey.run_jobs("offline")
    assert Instance.objects.get(label="web-2").disks.count() == journey.instance.disks.count()

    larger = InstanceTypeFactory(id="g6-test-4", label="Test 4GB", memory=4096, disk=51200, vcpus=4)
    world.type.deprecated, world.type.successor = True, larger
    world.type.save()
    journey.more("Upgrade")
    journey.press("Upgrade", "web-1 is being upgraded.")
    journey.run_jobs("offline")
    assert journey.instance.type == larger

    InstanceTypeFactory(id="g6-test-8", label="Test 8GB", memory=8192, disk=102400, vcpus=4)
    journey.more("Resize")
    visitor.driver.find_element(By.CSS_SELECTOR, "[value='g6-test-8']").click()
    journey.press("Resize", "web-1 is being resized.")
    journey.run_jobs("offline")
    assert journey.instance.type_id == "g6-test-8"

    there = RegionFactory(id="eu-test", country="de")
    HostFactory(region=there)
    AddressPoolFactory(region=there, addresses=9)
    journey.more("Move")
    visitor.choose("Move to", "eu-test (Germany)")
    journey.press("Move", "web-1 is being moved.")
    journey.run_jobs("offline")
    assert journey.instance.region_id == "eu-test"

    journey.more("Delete")
    visitor.type("Label of the instance", "web-2")
    visitor.press("Delete")
    assert "Type the label of the instance: web-1" in journey.shown
    visitor.type("Label of the instance", "web-1")
    journey.press("Delete", "web-1 is being deleted.")
    journey.worker.run_jobs()
    visitor.visit(visitor.path)
    assert "web-2" in journey.shown
    assert "web-1" not in journey.shown


def test_storage(journey: Journey, world: World):
    visitor, page = journey.visitor, "instance-storage"
    world.type.disk = 51200
    world.type.save()
    journey.visit(page)
    visitor.follow("Create disk")
    visitor.type("Label", "data")
    visitor.type("Size", "1000")
    journey.press("Create disk", "The disk data is being created.")
    journey.run_jobs("offline", page)
    journey.act("data", "Edit")
    visitor.type("Label", "archive")
    journey.press("Save", "The disk archive was saved.")
    journey.act("archive", "Resize")
    visitor.type("New size", "2000")
    journey.press("Resize disk", "The disk archive is being resized.")
    journey.run_jobs("offline", page)
    assert journey.instance.disks.get(label="archive").size == 2000
    journey.act("archive", "Clone")
    journey.press("Clone disk", "is being created.")
    journey.run_jobs("offline", page)
    root = journey.instance.disks.earliest("pk").label
    journey.act(root, "Set root password")
    visitor.type("New root password", STRONG)
    journey.press("Set password", f"The root password of {root} is being set.")
    journey.run_jobs("offline", page)
    journey.act("archive", "Create image")
    visitor.type("Label", "golden")
    journey.press("Create image", "The image golden is being created.")
    journey.run_jobs("offline", page)
    journey.act("archive", "Delete")
    journey.press("Delete disk", "The disk archive is being deleted.")
    journey.run_jobs("offline", page)
    assert not journey.instance.disks.filter(label="archive").exists()

    visitor.follow("Create volume")
    visitor.type("Label", "films")
    journey.press("Create and attach", "The volume films is being created.")
    journey.run_jobs("offline", page)
    journey.act("films", "Detach")
    journey.press("Detach volume", "The volume films is being detached.")
    journey.run_jobs("offline", page)
    assert "No volumes are attached." in journey.shown
    visitor.follow("Attach volume")
    visitor.choose("Volume", "films, 20 GB")
    journey.press("Attach volume", "The volume films is being attached.")
    journey.run_jobs("offline", page)
    assert "films" in journey.shown


def test_profiles_and_backups(journey: Journey):
    visitor, page = journey.visitor, "instance-configs"
    disk = journey.instance.disks.earliest("pk")
    journey.visit(page)
    visitor.follow("Create profile")
    visitor.type("Label", "single")
    visitor.choose("/dev/sda", f"{disk.label} ({disk.filesystem})")
    journey.press("Create profile", "The profile single was created.")
    journey.act("single", "Edit")
    visitor.type("Label", "single-user")
    visitor.choose("Run level", "single-user mode")
    journey.press("Save", "The profile single-user was saved.")
    journey.open_menu("single-user")
    journey.press("Boot with profile", "web-1 is booting with single-user.")
    journey.run_jobs("running", page)
    journey.act("single-user", "Reboot with profile")
    journey.press("Reboot", "web-1 is rebooting with single-user.")
    journey.run_jobs("running", page)
    journey.act("single-user", "Delete")
    journey.press("Delete profile", "The profile single-user was deleted.")
    assert journey.instance.configs.count() == 1

    page = "instance-backups"
    journey.visit(page)
    visitor.follow("Enable backups")
    journey.press("Enable backups", "Backups of web-1 are enabled.")
    visitor.follow("Edit schedule")
    visitor.choose("Time window", "10:00 to 12:00 UTC")
    visitor.choose("Day of the weekly backup", "Sunday")
    journey.press("Save", "The backup schedule was saved.")
    assert "10:00 to 12:00 UTC" in journey.shown
    visitor.follow("Take snapshot")
    visitor.type("Label", "before the upgrade")
    journey.press("Take snapshot", "The snapshot before the upgrade is being taken.")
    journey.run_jobs("running", page)
    assert "successful" in journey.shown
    journey.act("the backup", "Restore")
    visitor.tick("Delete all disks and profiles of the target instance first")
    journey.press("Restore", "The backup is being restored to web-1.")
    journey.run_jobs("offline", page)
    assert not journey.instance.disks.filter(pk=disk.pk).exists()
    visitor.follow("Disable backups")
    journey.press("Disable backups", "Backups of web-1 are disabled.")
    assert "Backups are off" in journey.shown


def test_network(journey: Journey, world: World):
    visitor, page = journey.visitor, "instance-network"
    other = world.create(label="web-2", booted=False)
    AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:99::/48", gateway="fe80::1")
    FirewallFactory(account=world.account, label="wall")
    journey.worker.run_jobs()
    own, theirs = journey.instance.ipv4[0], other.ipv4[0]
    journey.visit(page)
    visitor.follow("Add address")
    visitor.tick("Private: reached within the region. An instance has one at most.")
    journey.press("Add address", "was added to the instance.")
    private = journey.instance.addresses.get(public=False).address
    journey.act(private, "Delete")
    journey.press("Delete address", f"The address {private} was deleted.")
    journey.act(own, "Edit reverse name")
    visitor.type("Reverse name", "web-1.example.com")
    journey.press("Save", f"The reverse name of {own} is web-1.example.com.")
    visitor.follow("Share addresses")
    visitor.tick(f"{theirs} of web-2")
    journey.press("Save", "The shared addresses were saved.")
    assert "shared: belongs to another instance" in journey.shown
    visitor.follow("Share addresses")
    visitor.tick(f"{theirs} of web-2")
    journey.press("Save", "The shared addresses were saved.")
    journey.act(own, "Move or swap")
    visitor.choose("What to do", f"{theirs} of web-2")
    journey.press("Move address", f"The address {own} was moved.")
    assert theirs in journey.shown
    visitor.follow("Create range")
    journey.press("Create range", "is routed to the instance.")
    made = journey.instance.ipv6_ranges.get()
    journey.act(str(made), "Delete")
    journey.press("Delete range", f"The range {made} was deleted.")
    visitor.follow("Attach firewall")
    visitor.choose("Firewall", "wall, enabled")
    journey.press("Attach firewall", "The firewall wall was attached to web-1.")
    journey.act("wall", "Detach")
    journey.press("Detach firewall", "The firewall wall was detached from web-1.")


def test_settings_and_selections(journey: Journey, world: World):
    visitor = journey.visitor
    world.create(label="web-2", booted=False)
    journey.worker.run_jobs()
    journey.visit("instance-settings")
    visitor.type("Label", "shop")
    visitor.type("Tags", "live, europe")
    journey.press("Save", "The settings were saved.")
    visitor.type("Disk blocks read and written per second", "-1")
    visitor.press("Save alerts")
    assert "The settings were saved." not in journey.shown
    assert visitor.field("Disk blocks read and written per second").get_attribute("value") == "-1"
    visitor.type("Disk blocks read and written per second", "500")
    journey.press("Save alerts", "The settings were saved.")
    visitor.tick("Boot the instance again if it powers off unexpectedly")
    journey.press("Save watchdog", "The settings were saved.")
    journey.instance.refresh_from_db()
    changed = journey.instance
    assert (changed.label, changed.tags, changed.alert_io, changed.watchdog_enabled) == (
        "shop", ["live", "europe"], 500, False
    )  # fmt: skip

    def choose_both() -> None:
        for label in ("shop", "web-2"):
            visitor.driver.find_element(By.CSS_SELECTOR, f"[aria-label='Choose {label}']").click()

    visitor.follow("Instances")
    choose_both()
    journey.press("Boot", "Booting: shop, web-2")
    journey.run_jobs("running")
    visitor.follow("Instances")
    choose_both()
    journey.press("Reboot", "Rebooting: shop, web-2")
    journey.worker.run_jobs()
    visitor.visit(visitor.path)
    choose_both()
    journey.press("Shut down", "Shutting down: shop, web-2")
    journey.run_jobs("offline")
    visitor.follow("Instances")
    choose_both()
    visitor.press("Tag")
    visitor.type("Tag", "old")
    journey.press("Add tag", "Tag old added: shop, web-2")
    choose_both()
    visitor.press("Delete")
    journey.press("Delete 2 instances", "Deleting: shop, web-2")
    journey.worker.run_jobs()
    visitor.visit(visitor.path)
    assert "You have no instances yet" in journey.shown


def test_each_verb_belongs_to_a_journey():
    """A page with `operations` whose verb no journey presses is forgotten."""

    def is_verb(pattern: object) -> bool:
        view = getattr(getattr(pattern, "callback", None), "view_class", object)
        return issubclass(view, InstancePage | SelectionPage) and bool(view.operations)

    patterns = [*urls.urlpatterns, *part_urls.urlpatterns]
    names = {each.name for each in patterns if isinstance(each, URLPattern) and is_verb(each)}
    assert set().union(*VERBS.values()) == names
