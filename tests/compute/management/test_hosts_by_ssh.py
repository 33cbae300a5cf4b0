"""Commands for hosts on other machines: pin their key, copy the agent, and add and remove the platform's key."""

import json
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from compute.drivers.base import Power
from compute.drivers.qemu.agent.serving import agent_program
from compute.drivers.qemu.ssh import Place
from compute.management.hosts import location_by_ssh
from compute.models import Host
from compute.services.hosts import access
from compute.worker import drivers, identity
from tests.compute.drivers.qemu.disk_files import needs
from tests.compute.drivers.qemu.hosts import make_kernel
from tests.compute.drivers.qemu.ssh_hosts import SshHost, ssh_hosts
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Iterator[Path]:
    """The folder of this worker's keys and connections. The folder of the test is too deep for sockets."""
    monkeypatch.setattr(identity.tempfile, "tempdir", str(tmp_path))
    identity._written.cache_clear()
    drivers._driver.cache_clear()
    yield tmp_path
    identity._written.cache_clear()
    drivers._driver.cache_clear()


@pytest.fixture
def region():
    return HostFactory(label="older", driver="qemu", location="/nowhere", enabled=False).region


@pytest.fixture
def host(tmp_path) -> Iterator[SshHost]:
    with ssh_hosts(tmp_path, "hv1") as (made,):
        yield made


@pytest.fixture
def guest(host: SshHost, tmp_path: Path) -> Path:
    """Kernels and images for a host without any."""
    needs("qemu-system-x86_64")
    folder = tmp_path / "guest"
    made = agent_program.Store(folder)
    make_kernel(made)
    made.image("compute/debian12").parent.mkdir()
    with made.image("compute/debian12").open("wb") as file:
        file.truncate(8 << 20)
    return folder


def add(host: SshHost, region, **options: str) -> str:
    output = StringIO()
    user = host.location.removeprefix("ssh://").partition("@")[0]
    given = {
        "region": region.pk,
        "ssh": f"{user}@127.0.0.1",
        "port": host.port,
        "location": str(host.root),
        "shared": str(host.shared),
        "identity": str(host.folder.parent / "operator" / "key"),
        "user": "nobody",
        "fingerprint": access.fingerprint(host.host_key),
        **options,
    }
    call_command("host_add", "hv1", stdout=output, **given)
    return output.getvalue()


def test_a_worker_has_the_key_in_a_file_of_its_own(tmp_path):
    path = identity.file()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.read_text() == access.private_part(access.platform_key())
    path.unlink()
    assert identity.file().exists(), "it is written again"


def test_a_directory_that_others_may_write_gets_no_key(tmp_path):
    folder = tmp_path / f"skerry-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(drivers.DriverError):
        identity.file()
    assert list(folder.iterdir()) == []


def test_a_host_by_ssh_is_added_by_ssh_alone(region):
    with pytest.raises(CommandError, match="--ssh"):
        call_command("host_add", "hv1", region=region.pk, location="ssh://root@hv1/var/lib/skerry")


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("root@hv1", Place("root", "hv1", 22, "/var/lib/skerry")),
        ("hv1:2222", Place("root", "hv1", 2222, "/var/lib/skerry")),
        ("root@2001:db8::1", Place("root", "2001:db8::1", 22, "/var/lib/skerry")),
        ("root@[2001:db8::1]:2222", Place("root", "2001:db8::1", 2222, "/var/lib/skerry")),
    ],
)
def test_ssh_targets_become_locations(target, place):
    assert Place.of(location_by_ssh(target, 22, "")) == place


@pytest.mark.parametrize(("target", "port"), [("root@127.0.0.1:99999", 22), ("hv1:0", 22), ("hv1", 65536)])
def test_an_invalid_port_is_reported(region, target, port):
    with pytest.raises(CommandError, match="must be a number from 1 to 65535"):
        call_command("host_add", "hv1", region=region.pk, ssh=target, port=port)


@pytest.mark.guest
def test_a_host_is_added_updated_and_removed(host, region, guest):
    before = host.keys.read_text()
    output = add(host, region, guest=str(guest))
    row = Host.objects.get(label="hv1")
    assert (row.host_key, row.enabled, row.images) == (host.host_key, True, ["compute/debian12"])
    assert access.fingerprint(host.host_key) in output
    if not os.geteuid():
        assert json.loads((host.root / "host.json").read_text())["user"] == "nobody"
    line = host.keys.read_text().removeprefix(before)
    assert line.startswith('restrict,command="/usr/bin/python3 -I ')
    assert access.platform_key().public in line
    driver = drivers.configured.at(drivers.address_of(row))
    assert driver.power("skerry-7") is Power.ABSENT
    operator = str(host.folder.parent / "operator" / "key")
    for program in ("host_update", "host_check"):
        output = StringIO()
        call_command(program, "hv1", stdout=output, **({"identity": operator} if program == "host_update" else {}))
        assert "hv1 takes instances" in output.getvalue()
    call_command("host_remove", "hv1", identity=operator, stdout=StringIO())
    assert host.keys.read_text() == before
    assert not Host.objects.filter(label="hv1").exists()
    driver.agent.close()


@pytest.mark.guest
def test_a_host_with_another_key_than_expected_is_not_added(host, region):
    with pytest.raises(CommandError, match="--fingerprint"):
        add(host, region, fingerprint="SHA256:another")
    assert not host.root.exists()
    assert not Host.objects.filter(label="hv1").exists()


@pytest.mark.guest
def test_a_host_that_lacks_something_is_not_added_and_lets_nobody_in(host, region, settings, tmp_path):
    needs("qemu-system-x86_64")
    settings.STATE_DIR = tmp_path
    before = host.keys.read_text()
    with pytest.raises(CommandError, match=r"no kernel .* `make guest`"):
        add(host, region)
    assert host.keys.read_text() == before
    assert not Host.objects.filter(label="hv1").exists()
