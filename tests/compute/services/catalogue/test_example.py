"""The file of docs/catalogue.md can be applied without changes, and an export returns it."""

import io
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from accounts.models import TrustLevel
from compute.models import Address, AddressPool, Host, Image, InstanceType, ResourcePrice
from compute.services.catalogue import applying, exporting
from compute.services.catalogue.reading import read
from compute.services.catalogue.schema import SECTIONS
from regions.models import Region

pytestmark = pytest.mark.django_db
PAGE = Path(settings.BASE_DIR) / "docs" / "catalogue.md"
EXAMPLE = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]


@pytest.fixture
def applied(tmp_path) -> str:
    """Apply the example to an empty installation, and return the command's output."""
    file, output = tmp_path / "catalogue.yaml", io.StringIO()
    file.write_text(EXAMPLE)
    call_command("catalogue", "apply", str(file), "--yes", stdout=output)
    return output.getvalue()


def test_a_small_host_is_there(applied, client):
    regions = client.get("/v4/regions").json()["data"]
    assert [region["id"] for region in regions] == ["no-osl", "se-sto"]
    assert [region["country"] for region in regions] == ["no", "se"]
    assert regions[0]["resolvers"] == {"ipv4": "203.0.113.53", "ipv6": "2001:db8:9::53"}
    types = client.get("/v4/compute/types").json()["data"]
    assert [each["id"] for each in types] == ["small", "large"]
    assert (types[0]["memory"], types[0]["price"]) == (2048, {"hourly": 0.0075, "monthly": 5.0})
    assert client.get("/v4/compute/types/small-2024").json()["successor"] == "small"
    assert [each["id"] for each in client.get("/v4/images").json()["data"]] == ["compute/debian12"]
    assert Address.objects.filter(public=True).count() == 125
    host = Host.objects.get()
    assert (host.memory, host.disk, host.driver) == (256 * 1024, 4 * 1024**2, "simulated")


def test_the_page_shows_the_real_output(applied):
    [shown] = re.findall(r"^Plan: .*$", PAGE.read_text(), re.MULTILINE)
    assert shown in applied
    assert applied.startswith("regions\n  + no-osl\n  + se-sto\ntypes\n")


def test_twice_changes_nothing(applied, tmp_path):
    output = io.StringIO()
    call_command("catalogue", "apply", str(tmp_path / "catalogue.yaml"), "--yes", stdout=output)
    assert output.getvalue() == "Nothing to change.\n"


@pytest.mark.parametrize("form", [exporting.as_yaml, exporting.as_json])
def test_its_export_says_the_same(applied, form):
    exported = read(form(exporting.export([section for section in SECTIONS if section != "kernels"])))
    wanted = read(EXAMPLE)
    for section, items in wanted.items():
        names, came = [item.name for item in items], [item.name for item in exported[section]]
        assert came == names if items[0].ordered else sorted(came) == sorted(names)
    assert not applying.planned(exported)
    for model in (Host, AddressPool, Image, InstanceType, Region, ResourcePrice, TrustLevel):
        model.objects.all().delete()
    applying.apply(exported, applying.planned(exported))
    assert not applying.planned(wanted), "an export brings all of it back"
