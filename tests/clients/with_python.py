"""Use the client that openapi-python-client generates: list, create, follow, filter, page, and be refused.

Run with the address of an installation as URL and a token as TOKEN in the environment.
"""

import json
import os
import time

from skerry_client import AuthenticatedClient
from skerry_client.api.account_events import account_events_list
from skerry_client.api.compute_instances import (
    compute_instances_create,
    compute_instances_destroy,
    compute_instances_list,
    compute_instances_retrieve,
)
from skerry_client.api.compute_types import compute_types_list
from skerry_client.api.regions import regions_list
from skerry_client.models import Error, Instance, InstanceCreateRequest, InstancePage

PASSWORD = "correct-horse-7-battery"

client = AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["TOKEN"])

region = regions_list.sync(client=client).data[0].id
smallest = json.dumps({"class": "nanode", "+order_by": "memory"})
plan = compute_types_list.sync(client=client, x_filter=smallest).data[0].id

refused = compute_instances_create.sync(client=client, body=InstanceCreateRequest(region="nowhere", type_=plan))
assert isinstance(refused, Error)
assert [problem.field for problem in refused.errors] == ["region"], refused

made = compute_instances_create.sync(
    client=client,
    body=InstanceCreateRequest(
        region=region, type_=plan, image="compute/debian11", root_pass=PASSWORD, label="made-with-python"
    ),
)
assert isinstance(made, Instance), made

while made.status != "running":
    time.sleep(0.2)
    made = compute_instances_retrieve.sync(made.id, client=client)
    assert isinstance(made, Instance), made

wanted = json.dumps({"entity.id": made.id, "entity.type": "compute", "action": "compute_create"})
(event,) = account_events_list.sync(client=client, x_filter=wanted).data
assert (event.status, event.percent_complete) == ("finished", 100)

found = compute_instances_list.sync(client=client, x_filter=json.dumps({"label": "made-with-python"}))
assert isinstance(found, InstancePage)
assert [instance.id for instance in found.data] == [made.id]

page, number = compute_instances_list.sync(client=client, page_size=25), 1
while number < page.pages:
    number += 1
    page = compute_instances_list.sync(client=client, page=number, page_size=25)
assert page.page == page.pages

compute_instances_destroy.sync(made.id, client=client)
print("done")
