"""Commands for official images of hosts: import from files, build, replace."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from compute.drivers.qemu import building
from compute.management.commands import image_build
from compute.models import Host, Image
from compute.services.hosts import access
from compute.worker import drivers, hosts, identity, official_images
from tests.compute.drivers.qemu.disk_files import ext4, needs, system_folder
from tests.compute.drivers.qemu.ssh_hosts import ssh_hosts
from tests.factories import HostFactory

pytestmark = pytest.mark.django_db

IMAGE = "compute/debian13"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host on this machine. No kernel is booted: only its official files are checked."""
    needs("mke2fs", "debugfs", "resize2fs", "qemu-system-x86_64")

    def check_host(row: Host) -> hosts.Checked:
        report = drivers.configured.at(drivers.address_of(row)).inspect()
        return hosts.Checked(hosts.registry.record(row, {}, report.images, report.architectures), report)

    monkeypatch.setattr(official_images, "check", check_host)
    drivers._driver.cache_clear()
    return HostFactory(label="hv1", driver="qemu", location=str(tmp_path / "skerry"), images=[])


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The file of a small system."""
    file = tmp_path / "system.raw"
    ext4(file, 32, system_folder(tmp_path / "files"))
    return file


def run(command: str, *words: object, **options: object) -> str:
    """Run a command, and return its output."""
    output = StringIO()
    call_command(command, *map(str, words), stdout=output, stderr=output, **options)
    return output.getvalue()


@pytest.mark.guest
def test_a_file_becomes_an_official_image_of_the_host(host, system):
    assert IMAGE in run("image_import", system, id=IMAGE, name="Debian 13 of ours")
    host.refresh_from_db()
    assert host.images == [IMAGE]
    image = Image.objects.get(pk=IMAGE)
    assert (image.label, image.is_public) == ("Debian 13 of ours", True)
    assert (Path(host.location) / "images/compute~debian13.raw").exists()
    run("image_import", system, id=IMAGE, labels=["hv1"])
    assert Image.objects.filter(pk=IMAGE).count() == 1


@pytest.mark.guest
def test_an_image_stays_unless_it_is_replaced(host, system, tmp_path):
    run("image_import", system, id=IMAGE)
    kept = Path(host.location) / "images/compute~debian13.raw"
    first = kept.read_bytes()
    other = tmp_path / "other.raw"
    ext4(other, 40, system_folder(tmp_path / "others"))
    run("image_import", other, id=IMAGE)
    assert kept.read_bytes() == first
    run("image_import", other, id=IMAGE, replace=True)
    assert kept.read_bytes() != first


def test_a_file_that_is_no_image_is_refused_and_leaves_nothing(host, tmp_path):
    file = tmp_path / "nothing.raw"
    file.write_bytes(b"nothing" * 1000)
    with pytest.raises(CommandError, match="failed: 1 of 1"):
        run("image_import", file, id=IMAGE)
    assert not list((Path(host.location) / "images").glob("*"))
    host.refresh_from_db()
    assert host.images == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.raw", "--id", IMAGE], "There is no file"),
        ([__file__, "--id", "Debian 13"], "an id looks like"),
        ([__file__, "--id", IMAGE, "--host", "hv9"], "There is no host hv9"),
        ([__file__, "--id", IMAGE, "--host", "simple"], "cannot import images"),
        ([__file__, "--id", IMAGE], "No host can import images"),
    ],
)
def test_impossible_imports_have_a_reason(words, message):
    HostFactory(label="simple")
    with pytest.raises(CommandError, match=message):
        run("image_import", *words)


@pytest.mark.guest
def test_a_system_is_built_and_imported(host, monkeypatch, tmp_path):
    monkeypatch.setattr(image_build, "ROOMY", str(tmp_path))

    def fake(system: building.System, target: Path, mirror: str, packages: list[str]) -> None:
        assert (system.release, mirror, packages) == ("trixie", "", ["tmux", "git"])
        ext4(target, 32, system_folder(target.parent / "files"))

    monkeypatch.setattr(image_build, "build", fake)
    message = run("image_build", "debian-13", include="tmux,git")
    assert IMAGE in message
    assert Image.objects.get(pk=IMAGE).label == "Debian 13"
    output = tmp_path / "debian-13.raw"
    assert "image_import" in run("image_build", "debian-13", include="tmux,git", output=output)
    assert output.exists()


def test_a_system_that_is_not_built_is_an_error_in_a_line(host, monkeypatch, tmp_path):
    monkeypatch.setattr(image_build, "ROOMY", str(tmp_path))

    def refuse(*given: object) -> None:
        raise building.NotBuilt("mmdebstrap is not installed.")

    monkeypatch.setattr(image_build, "build", refuse)
    with pytest.raises(CommandError, match="mmdebstrap is not installed"):
        run("image_build", "debian-13")


@pytest.mark.guest
def test_a_host_by_ssh_gets_it_from_its_administrator(host, system, tmp_path, monkeypatch):
    monkeypatch.setattr(identity.tempfile, "tempdir", str(tmp_path))
    identity._written.cache_clear()
    with ssh_hosts(tmp_path / "far", "hv2") as (far,):
        far.administrator.bring_agent()
        far.administrator.admit(access.platform_key().public)
        HostFactory(
            label="hv2", driver="qemu", location=far.location, shared=str(far.shared), host_key=far.host_key,
            region=host.region, images=[],
        )  # fmt: skip
        key = str(tmp_path / "far" / "operator" / "key")
        run("image_import", system, id=IMAGE, labels=["hv2"], identity=key)
        assert Host.objects.get(label="hv2").images == [IMAGE]
        assert far.store.image(IMAGE).exists()
        assert not list(far.root.glob(".given-*")), "the copy is gone"
        drivers.configured.at(drivers.address_of(Host.objects.get(label="hv2"))).agent.close()
    identity._written.cache_clear()
    drivers._driver.cache_clear()
