"""Checks of an API with another word, beyond the examples: values, filters, reasons, and the texts of customers."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Event, Message, OAuthAccessToken, PersonalToken, User
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import Resources
from compute.models import Alert, Disk, Image, Instance, Kernel
from compute.serializers.backups import RestoreRequest
from compute.serializers.disks import DeployRequest
from compute.services.catalogue import values
from compute.services.stats import alerts
from config.encryption import decrypt_json
from config.word import message_on_wire, on_wire
from tests.accounts.apps import App, browser_of, redirected
from tests.client import APIClient
from tests.factories import StackScriptFactory
from tests.policy import Scene

ONE, MANY = on_wire("compute"), on_wire("computes")
INSTANCES = f"/v4/{ONE}/instances"


class Caller:
    """The owner of the scene, who sends everything with the word."""

    def __init__(self, api: APIClient, call: Callable[..., Any]):
        self.api, self.call = api, call

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200, **headers: Any) -> Any:
        sent = {name.replace("_", "-"): json.dumps(value) for name, value in headers.items()}
        answer = self.call(self.api, method, path, body, sent)
        assert answer.status_code == status, (method, path, body, sent, answer.content)
        return answer.json()

    def filtered(self, path: str, **wanted: Any) -> list[dict[str, Any]]:
        return self("GET", path, X_Filter=wanted)["data"]

    def reasons(self, method: str, path: str, body: Any = None, **headers: Any) -> dict[str | None, str]:
        problems = self(method, path, body, 400, **headers)["errors"]
        return {problem["field"]: problem["reason"] for problem in problems}


def check(scene: Scene, call: Callable[..., Any]) -> None:
    """Check everything. `call` is the method of the client that sends what it is given."""
    owner = Caller(next(caller for caller in scene.callers if caller.name == "owner").api, call)
    deployed = {
        "region": scene.world.region.pk,
        "type": scene.world.type.pk,
        "image": on_wire(scene.world.image.pk),
        "root_pass": "zu7-Kelp-Ahoy",
        "tags": ["compute"],
    }
    made = [owner("POST", INSTANCES, deployed | more) for more in ({"label": "my-compute"}, {})]
    check_values(owner, scene, deployed, *made)
    check_events(owner, on_wire(scene.world.image.pk), *made)
    check_fields(owner, scene, deployed, made[0])
    check_scopes(owner, deployed)
    check_oauth(owner, scene.member)
    check_pages(User.objects.get(pk=scene.world.actor.user_id), scene.compute.pk)
    check_mails(made[0]["id"])
    with pytest.raises(ValueError, match="neutral word, in rows and files: compute/debian12"):
        values.official(f"{ONE}/debian12")


def check_values(owner: Caller, scene: Scene, deployed: dict[str, Any], named: Any, default: Any) -> None:
    """Values that only the platform writes have the word. Labels and tags of customers stay."""
    image = scene.world.image.pk
    assert (named["label"], named["tags"], named["image"]) == ("my-compute", ["compute"], on_wire(image))
    assert default["label"] == f"{ONE}{default['id']}"
    tagged = {(each["type"], each["data"]["label"]) for each in owner("GET", "/v4/tags/compute")["data"]}
    assert tagged == {(ONE, "my-compute"), (ONE, default["label"])}
    assert Instance.objects.get(pk=named["id"]).image_id == image
    assert Disk.objects.filter(instance=named["id"], image=image).count() == 1
    assert len(owner.filtered(INSTANCES, image=on_wire(image))) == 2
    assert owner.filtered(INSTANCES, image=image) == []
    assert owner.reasons("POST", INSTANCES, deployed | {"image": image}) == {"image": "image is not valid"}
    assert owner("GET", f"/v4/{ONE}/kernels/{ONE}/latest-64bit")["id"] == f"{ONE}/latest-64bit"
    owner("GET", f"/v4/{ONE}/kernels/compute/latest-64bit", status=404)
    assert {each["created_by"] for each in owner.filtered("/v4/images", created_by=ONE)} == {ONE}
    plan = scene.world.type
    plan.label = "Compute 2GB"
    plan.save()
    assert owner("GET", f"/v4/{ONE}/types/{plan.pk}")["label"] == f"{ONE.capitalize()} 2GB"
    labelled = owner.filtered(f"/v4/{ONE}/types", label=f"{ONE.capitalize()} 2GB")
    assert plan.pk in {each["id"] for each in labelled}
    region = scene.world.region
    region.capabilities = sorted({*region.capabilities, "Computes", "GPU Computes"})
    region.save()
    for wanted in (MANY.capitalize(), {"+contains": f"GPU {MANY[0].upper()}"}):
        assert region.pk in {each["id"] for each in owner.filtered("/v4/regions", capabilities=wanted)}
    assert owner.filtered("/v4/regions", capabilities="Computes") == []
    later = owner.filtered("/v4/images", id={"+gte": f"{ONE}/"})
    assert {on_wire(image)} <= {each["id"] for each in later}
    Image.objects.filter(pk=scene.image.pk).update(created_by="compute", description="Of a compute.")
    (own,) = owner.filtered("/v4/images", created_by="compute")
    assert (own["created_by"], own["description"]) == ("compute", "Of a compute.")


def check_events(owner: Caller, image: str, *made: Any) -> None:
    wanted = {"action": f"{ONE}_create", "entity.type": ONE, "+order_by": "id"}
    events = owner.filtered("/v4/account/events", **wanted)
    assert [each["entity"]["url"] for each in events] == [f"{INSTANCES}/{each['id']}" for each in made]
    assert events[0]["secondary_entity"]["id"] == image
    assert owner("GET", f"/v4/account/events?action={ONE}_create")["results"] == 2
    in_part = owner.filtered("/v4/account/events", action={"+contains": f"{ONE[1:]}_cre"})
    assert {each["id"] for each in in_part} == {each["id"] for each in events}
    assert owner.filtered("/v4/account/events", action="compute_create") == []
    event = Event.objects.get(pk=events[0]["id"])
    assert (event.action, event.entity_url) == ("compute_create", f"/v4/compute/instances/{made[0]['id']}")
    event.message = "The volume my-compute in sdb is not attached to the compute."
    event.save()
    message = owner("GET", f"/v4/account/events/{event.pk}")["message"]
    assert message == f"The volume my-compute in sdb is not attached to the {ONE}."
    assert message_on_wire("Support read the key: a compute is down") == "Support read the key: a compute is down"
    quota = "The quota of memory of {} is 65536 MB: for a compute"
    assert message_on_wire(quota.format("computes")) == quota.format(MANY), "the reason is a text of staff"
    event.action, event.message = "stackscript_revise", "The compute was deleted."
    event.save()
    message = owner("GET", f"/v4/account/events/{event.pk}")["message"]
    assert message == "The compute was deleted.", "a customer wrote it"
    (refused,) = Resources(dict.fromkeys(RESOURCE_QUOTAS, 3), dict.fromkeys(RESOURCE_QUOTAS, 3)).refusals(
        {"instances": 1}
    )
    assert refused.startswith(f"The account's quota of {MANY} is 3: ")
    both = "The compute was deleted. The compute was deleted."
    assert message_on_wire(both) == both.replace("compute", ONE)


def check_fields(owner: Caller, scene: Scene, deployed: dict[str, Any], made: Any) -> None:
    """Names of fields and filters have the word, in reasons too. The neutral names are unknown."""
    volume = {"label": "some-compute", "size": 20, "region": scene.world.region.pk, "compute_id": 999}
    assert owner("POST", "/v4/volumes", volume)[f"{ONE}_id"] is None
    invalid = owner.reasons("POST", "/v4/volumes", {"label": "another", "size": 20, f"{ONE}_id": 999})
    assert invalid == {f"{ONE}_id": f"{ONE}_id is not valid"}
    assert owner.reasons("POST", f"{INSTANCES}/{made['id']}/boot") == {None: f"{ONE.capitalize()} busy."}
    assert owner("GET", "/v4/networking/ips", X_Filter={f"{ONE}_id": made["id"]})["results"] > 0
    assert owner("GET", "/v4/networking/ips", X_Filter={"+order_by": f"{ONE}_id"})["results"] > 1
    refused = {"X-Filter": "Cannot filter on compute_id"}
    assert owner.reasons("GET", "/v4/networking/ips", X_Filter={"compute_id": 1}) == refused
    text = '#!/bin/sh\n# <UDF name="compute_size" label="Size">\n'
    script = StackScriptFactory(account=scene.account, script=text)
    reasons = owner.reasons("POST", INSTANCES, deployed | {"stackscript_id": script.pk, "stackscript_data": {}})
    assert reasons == {"stackscript_data.compute_size": "stackscript_data.compute_size is required"}


def check_scopes(owner: Caller, deployed: dict[str, Any]) -> None:
    token = owner("POST", "/v4/profile/tokens", {"scopes": f"{MANY}:read_only,events:read_only"})
    assert token["scopes"] == f"{MANY}:read_only events:read_only"
    assert PersonalToken.objects.get(pk=token["id"]).scopes == "computes:read_only events:read_only"
    unknown = owner.reasons("POST", "/v4/profile/tokens", {"scopes": "computes:read_only"})
    assert unknown == {"scopes": "Unknown scope: computes:read_only"}
    reader = APIClient(token["token"])
    answer = owner.call(reader, "GET", INSTANCES, None, {})
    assert answer["X-OAuth-Scopes"] == f"{MANY}:read_only events:read_only"
    assert answer["X-Accepted-OAuth-Scopes"] == f"{MANY}:read_only"
    assert owner.call(reader, "POST", INSTANCES, deployed, {}).status_code == 401


def check_oauth(owner: Caller, user: User) -> None:
    """Apps ask for scopes with the word, and get them so. Rows have the neutral names."""
    app = App(public=False)
    scopes = f"{MANY}:read_write account:read_only"
    assert f"change and delete {ONE} instances" in app.ask(browser_of(user), scopes).content.decode()
    given = app.tokens(user, scopes)
    assert given["scope"] == scopes
    assert OAuthAccessToken.objects.get().scope == "computes:read_write account:read_only"
    assert app.post("/oauth/introspect", {"token": given["access_token"]}).json()["scope"] == scopes
    less = app.refresh(given["refresh_token"], scope=f"{MANY}:read_only account:read_only").json()
    assert less["scope"] == f"{MANY}:read_only account:read_only"
    refused = app.refresh(less["refresh_token"], scope="computes:read_only")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_scope")
    (shown,) = owner.call(APIClient(less["access_token"]), "GET", "/v4/profile/apps", None, {}).json()["data"]
    assert shown["scopes"] == scopes
    assert redirected(app.ask(browser_of(user), "computes:read_only"))["error"] == "invalid_scope"


def check_pages(user: User, instance_id: int) -> None:
    """Forms have the neutral form, and show and send the word. The reference has the word."""
    body = {"image": "compute/debian11", "stackscript_data": {"compute_image": "compute/debian11"}}
    assert DeployRequest.with_word(body) == body | {"image": f"{ONE}/debian11"}
    assert RestoreRequest.with_word({"compute_id": 7, "overwrite": True}) == {f"{ONE}_id": 7, "overwrite": True}
    kernel = Kernel.objects.get(pk="compute/latest-64bit")
    kernel.label = "Latest 64 bit (5.19-compute156)"
    kernel.save()
    instance = f"/home/instances/{instance_id}"
    plan, booted = f"{ONE.capitalize()} 2GB", f"(5.19-{ONE}156)"
    for page, name in {
        "/home/instances": plan,
        "/home/instances/new": plan,
        f"{instance}/resize": plan,
        f"{instance}/clone": plan,
        f"{instance}/configs/new": booted,
    }.items():
        shown = browser_of(user).get(page).content.decode()
        assert name in shown, page
        assert not re.search(r"Compute 2GB|5\.19-compute", shown), page
    shown = browser_of(user).get(f"/docs/operations/{ONE}_instances_create").content.decode()
    assert f"{ONE}/debian11" in shown
    found = re.findall(r".*\bcomputes?\b.*", shown)
    assert not found, found


def check_mails(instance_id: int) -> None:
    """Mails have the word. Labels of customers stay."""
    assert alerts._raise(alerts.Crossing(instance_id, Alert.Metric.CPU, 95.0, 90))
    texts = [decrypt_json(message.encrypted)["text"] for message in Message.objects.filter(channel="mail")]
    assert [text for text in texts if f"an alert about your {ONE} my-compute ({instance_id}):" in text]
