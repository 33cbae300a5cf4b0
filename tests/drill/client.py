"""Customers who create, change and delete things over HTTP."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.drill.figures import Log

TIMEOUT_SECONDS = 60.0
"""Seconds within which a request is answered or its connection ends."""
INSTANCES, VOLUMES, DOMAINS = 4, 4, 3
"""The number of each that a client keeps."""
PAUSE = 0.1
PASSWORD = "Xk9#mQ2$vL7pWz4n"
IMAGE, REGION = "compute/debian11", "us-east"
TYPES = ("g6-nanode-1", "g6-standard-1", "g6-standard-2")

Body = dict[str, Any]
Reply = tuple[int, Any]


def ask(port: int, token: str, method: str, path: str, body: Body | bytes | None = None, **headers: str) -> Reply:
    """Send one request on a new connection. Returns its status and its JSON. The status is 0 if the connection
    ended."""
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, f"/v4{path}", content, sent)
        response = connection.getresponse()
        read = response.read()
    except (OSError, http.client.HTTPException):
        return 0, None
    finally:
        connection.close()
    try:
        return response.status, json.loads(read)
    except ValueError:
        return response.status, None


NO_EVENT_IF_SO = {"volume_attach", "volume_detach"}
"""Changes that leave no event if the volume is already in that state. Both answers are 200, so none is counted."""
ONE_EVENT = {"compute_delete"}
"""Changes that leave one event, however often they are requested."""


class Client(threading.Thread):
    """A client that acts until `stopped`, and records the answers.

    `acknowledged` counts answers 200, by action of the expected event and id of its entity.
    """

    def __init__(self, ports: list[int], token: str, seed: str, log: Log, stopped: threading.Event):
        super().__init__(daemon=True)
        self.ports, self.token, self.log, self.stopped = ports, token, log, stopped
        self.rng = random.Random(seed)
        self.acknowledged: Counter[tuple[str, int]] = Counter()
        self.ids: dict[str, list[int]] = {"instances": [], "volumes": [], "domains": []}
        self.made = 0

    def run(self) -> None:
        actions = [name for name, (_, weight) in ACTIONS.items() for _ in range(weight)]
        while not self.stopped.wait(PAUSE):
            ACTIONS[self.rng.choice(actions)][0](self)

    def call(self, what: str, method: str, path: str, body: Body | None = None) -> Reply:
        begun = time.monotonic()
        status, answer = ask(self.rng.choice(self.ports), self.token, method, path, body)
        self.log.answer(begun, status, f"{what}: {method} {path}")
        return status, answer

    def change(self, event: str, path: str, entity: int, body: Body | None = None, method: str = "POST") -> bool:
        """Change an object. Returns whether the answer was 200."""
        status, _ = self.call(event, method, path, {} if body is None and method == "POST" else body)
        if status == 200 and event in ONE_EVENT:
            self.acknowledged[event, entity] = 1
        elif status == 200 and event not in NO_EVENT_IF_SO:
            self.acknowledged[event, entity] += 1
        return status == 200

    def make(self, what: str, event: str, path: str, body: Body) -> None:
        status, answer = self.call(event, "POST", path, body)
        if status == 200:
            self.acknowledged[event, answer["id"]] += 1
            self.ids[what].append(answer["id"])
        elif status == 0 or status >= 500:
            self.list_own(what)

    def list_own(self, what: str) -> None:
        """List the client's objects again, after a request without an answer."""
        path = {"instances": "/compute/instances", "volumes": "/volumes", "domains": "/domains"}[what]
        status, answer = self.call("list", "GET", f"{path}?page_size=100")
        if status == 200:
            self.ids[what] = [each["id"] for each in answer["data"]]

    def label(self) -> str:
        self.made += 1
        return f"drill-{self.rng.randrange(10**9)}-{self.made}"

    def one(self, what: str) -> int | None:
        return self.rng.choice(self.ids[what]) if self.ids[what] else None


def on_instance(
    event: str, rest: str, body: Callable[[Client], Body] = lambda client: {}
) -> Callable[[Client], None]:
    def act(client: Client) -> None:
        if pk := client.one("instances"):
            client.change(event, f"/compute/instances/{pk}/{rest}", pk, body(client))

    return act


def on_volume(
    event: str, rest: str, body: Callable[[Client], Body] = lambda client: {}
) -> Callable[[Client], None]:
    def act(client: Client) -> None:
        if pk := client.one("volumes"):
            client.change(event, f"/volumes/{pk}/{rest}", pk, body(client))

    return act


def create(client: Client) -> None:
    if len(client.ids["instances"]) < INSTANCES:
        body: Body = {"region": REGION, "type": client.rng.choice(TYPES[:2]), "label": client.label()}
        body |= {"image": IMAGE, "root_pass": PASSWORD, "backups_enabled": client.rng.random() < 0.7}
        client.make("instances", "compute_create", "/compute/instances", body)


def clone(client: Client) -> None:
    pk = client.one("instances")
    if pk and len(client.ids["instances"]) < INSTANCES:
        body = {"region": REGION, "type": TYPES[2], "label": client.label()}
        status, answer = client.call("compute_clone", "POST", f"/compute/instances/{pk}/clone", body)
        if status == 200:
            client.ids["instances"].append(answer["id"])
        elif status == 0 or status >= 500:
            client.list_own("instances")


def delete(what: str, event: str, path: str) -> Callable[[Client], None]:
    def act(client: Client) -> None:
        if (pk := client.one(what)) and client.change(event, f"{path}/{pk}", pk, method="DELETE"):
            client.ids[what].remove(pk)

    return act


def create_volume(client: Client) -> None:
    if len(client.ids["volumes"]) < VOLUMES:
        pk = client.one("instances")
        place = {"compute_id": pk} if pk and client.rng.random() < 0.5 else {"region": REGION}
        client.make("volumes", "volume_create", "/volumes", {"label": client.label(), "size": 20, **place})


def clone_volume(client: Client) -> None:
    pk = client.one("volumes")
    if pk and len(client.ids["volumes"]) < VOLUMES:
        status, answer = client.call("volume_clone", "POST", f"/volumes/{pk}/clone", {"label": client.label()})
        if status == 200:
            client.ids["volumes"].append(answer["id"])


def create_domain(client: Client) -> None:
    if len(client.ids["domains"]) < DOMAINS:
        body = {"domain": f"{client.label()}.example.com", "type": "master", "soa_email": "dns@example.com"}
        client.make("domains", "dns_zone_create", "/domains", body)


ACTIONS: dict[str, tuple[Callable[[Client], None], int]] = {
    "create": (create, 6),
    "boot": (on_instance("compute_boot", "boot"), 3),
    "reboot": (on_instance("compute_reboot", "reboot"), 2),
    "shutdown": (on_instance("compute_shutdown", "shutdown"), 3),
    "resize": (on_instance("compute_resize", "resize", lambda client: {"type": client.rng.choice(TYPES)}), 2),
    "snapshot": (on_instance("compute_snapshot", "backups", lambda client: {"label": client.label()}), 2),
    "clone": (clone, 2),
    "delete": (delete("instances", "compute_delete", "/compute/instances"), 2),
    "volume create": (create_volume, 3),
    "volume attach": (
        on_volume("volume_attach", "attach", lambda client: {"compute_id": client.one("instances") or 0}),
        2,
    ),
    "volume detach": (on_volume("volume_detach", "detach"), 2),
    "volume resize": (
        on_volume("volume_resize", "resize", lambda client: {"size": client.rng.randrange(21, 90)}),
        2,
    ),
    "volume clone": (clone_volume, 1),
    "volume delete": (delete("volumes", "volume_delete", "/volumes"), 2),
    "domain create": (create_domain, 2),
    "domain delete": (delete("domains", "dns_zone_delete", "/domains"), 1),
    "list": (lambda client: client.list_own(client.rng.choice(list(client.ids))), 3),
}
"""The actions of clients, with the weight of each."""
