"""A fresh installation, as `make serve` makes it, accepts every example request of the document.

The first press of *Send* on an operation's page is sent as the browser sends it. It has the body that the page
shows and the token that the page offers first.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from accounts.actors import Actor
from accounts.models import User
from compute.models import Host, Instance
from compute.services.instances.instances import delete
from config.laptop.serving.demo import Logins
from config.management.commands.serve import with_demo_account
from config.reference.own_objects import NEEDS_YOURS
from config.reference.reading import Operation, reference
from tests.accounts.pages.browsers import sign_in
from tests.accounts.signing_in import PASSWORD
from tests.client import APIClient
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import finish, work
from tests.config.api.routes import Route, routes
from tests.databases import rolled_back
from tests.examples import exchange, operation_of, written
from tests.policy import scene_of
from tests.world import World, catalogue_rows

pytestmark = pytest.mark.django_db
NEEDS_AN_INSTANCE = {
    "images_create",
    "networking_ips_assign",
    "networking_ips_create",
    "networking_ips_share",
    "networking_ipv4_assign",
    "networking_ipv4_share",
    "networking_ipv6_ranges_create",
}
"""Operations that need an instance: the example of `make serve`. Without an instance, their pages lead to the
create."""
FIRST = [
    operation
    for operation in reference().operations.values()
    if operation.method == "POST" and operation.bodies and "{" not in operation.path
]
"""Operations that a reader can send at once, without filling anything in."""
WITH_INSTANCE = [operation for operation in FIRST if operation.id in NEEDS_AN_INSTANCE]
CREATE = reference().operations["compute_instances_create"]
WITH_EXAMPLE = [route for route in routes() if "request" in written()[operation_of(route)]]


@dataclass(frozen=True)
class Installation:
    world: World
    browser: Client


@pytest.fixture(scope="module")
def installation(django_db_setup, django_db_blocker) -> Iterator[Installation]:
    """The database as `make serve` seeds it, with its owner signed in.

    No worker has begun the job that creates the example instance. Each test undoes its own changes.
    """
    with django_db_blocker.unblock(), rolled_back():
        call_command("seed", demo=True, verbosity=0)
        # Otherwise each test would check the foreign keys of all addresses again, and plan without statistics.
        connection.check_constraints()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE compute_address, compute_addresspool, compute_image")
        with_demo_account(Logins(owner=PASSWORD, staff="for-staff", restricted="for-restricted"))
        owner = User.objects.get(username="owner")
        region, plan, image = catalogue_rows()
        host = Host.objects.get(label="us-east-h1")
        actor = Actor(owner.account_id, owner.pk, owner.username)
        world = World(region, plan, image, host, owner.account, actor)
        yield Installation(world, sign_in("owner"))


def first_press(operation: Operation, browser: Client) -> int:
    """Return the status after the first press of *Send* on the page of the operation."""
    page = browser.get(operation.address).content.decode()
    [body] = re.findall(r'<textarea id="try-body"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    [accepted] = re.findall(r'data-accepts="([^"]+)"', page)
    made = browser.post("/docs/token", {"access": accepted.split()[0], "back": operation.address})
    return APIClient(made.json()["token"]).post(operation.path, json.loads(unescape(body))).status_code


def create_first(operation: Operation, browser: Client) -> list[str]:
    """Return the addresses of the creates that the page names as the ones to send first."""
    page = browser.get(operation.address).content.decode()
    return re.findall(r'<p id="create-first">.*?<a href="([^"]+)"', page)


@pytest.mark.parametrize("operation", FIRST, ids=lambda operation: operation.id)
def test_the_first_press_of_send_is_answered_200(operation: Operation, installation):
    """Also before a worker has created the example instance.

    An operation that needs a value which only the reader knows is refused, and its page says so.
    """
    browser = installation.browser
    theirs = operation.id in NEEDS_YOURS
    status = first_press(operation, browser)
    assert (status == 200) == (not theirs), status
    assert create_first(operation, browser) == []
    assert (b'id="needs-yours"' in browser.get(operation.address).content) == theirs


@pytest.mark.parametrize("operation", WITH_INSTANCE, ids=lambda operation: operation.id)
def test_without_an_instance_the_page_leads_to_the_create_and_works_after_it(operation: Operation, installation):
    account, browser, driver = installation.world.account, installation.browser, MemoryDriver()
    example = Instance.objects.get(account=account)
    finish(example, driver)
    work(delete(installation.world.actor, example), driver)
    assert first_press(operation, browser) != 200
    assert create_first(operation, browser) == [CREATE.address]
    assert first_press(CREATE, browser) == 200
    finish(Instance.objects.get(account=account), driver)
    assert first_press(operation, browser) == 200
    assert create_first(operation, browser) == []


@pytest.mark.parametrize("part", ["backups", "disks", "ips"])
def test_the_example_instance_takes_the_examples_of_its_parts(part, installation):
    example = Instance.objects.get(account=installation.world.account)
    finish(example, MemoryDriver())
    token = installation.browser.post("/docs/token", {"access": "full", "back": CREATE.address}).json()["token"]
    request = written()[f"POST /v4/compute/instances/{{compute_id}}/{part}"]["request"]
    made = APIClient(token).post(f"/v4/compute/instances/{example.pk}/{part}", request)
    assert made.status_code == 200, made.json()


def test_a_node_of_a_load_balancer_is_the_example_instance(installation):
    """If the instance has a private address, the body names it."""
    nodes = reference().operations["nodebalancers_configs_nodes_create"]
    assert first_press(reference().operations["networking_ips_create"], installation.browser) == 200
    example = Instance.objects.get(account=installation.world.account)
    [private] = [address for address in example.ipv4 if address.startswith("192.168.")]
    assert f"{private}:80" in unescape(installation.browser.get(nodes.address).content.decode())


def test_no_operation_is_left_out_that_is_not_there():
    assert NEEDS_AN_INSTANCE | NEEDS_YOURS.keys() <= {operation.id for operation in FIRST}


@pytest.mark.parametrize("route", WITH_EXAMPLE, ids=str)
def test_every_example_request_is_taken(route: Route, installation):
    """Every example is sent. Ids and addresses of the account's objects are those of this database.

    All other values, such as ids of the catalogue, are those of the document. `exchange` checks that the answer
    is a good one.
    """
    scene = scene_of(installation.world)
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    exchange(route, scene, owner, written()[operation_of(route)]["request"])
