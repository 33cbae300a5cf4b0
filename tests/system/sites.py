"""A site of the platform: a server, and hosts that it reaches by ssh, each in a network namespace of its own.

The world between them is that of `tests.compute.drivers.qemu.namespaces`. Nothing of it is in the namespace
that the tests run in.
"""

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import requests

from compute.services.hosts.access import fingerprint
from tests.compute.drivers.qemu.namespaces import CROWDED, Namespace, World
from tests.compute.drivers.qemu.ssh_hosts import SSHD, make_key
from tests.files import below
from tests.system.server import ROOT, TIMEOUT_SECONDS, Server, environment
from tests.waiting import wait_for

REGION = "ap-west"
"""The first region of the catalogue. Its first addresses are those of the world's switch."""
UNFINISHED = {"scheduled", "started"}
PACE = 0.5
"""Seconds between two polls of the platform or of a guest. Both share two cores with the tests."""
OWN_FAILURE = 255
"""The exit status of ssh if it could not run the command."""
BOOT = """\
mount --bind "$1" /proc/sys/kernel/random/boot_id
test ! -e /dev/kvm || mount --bind /dev/null /dev/kvm
exec "$2" -D -e -f "$3"
"""
"""The start of a host: a boot id, no KVM, and an sshd. Without KVM, machines are emulated on every test
machine."""


class Machine:
    """A host: an sshd in a network namespace, with a home and a directory. It can lose its power."""

    def __init__(self, world: World, folder: Path, number: int, operator: str):
        self.world, self.number, self.label = world, number, f"hv{number}"
        self.folder = folder / self.label
        self.root = self.folder / "skerry"
        self.keys = self.folder / "home" / ".ssh" / "authorized_keys"
        self.keys.parent.mkdir(parents=True)
        self.keys.write_text(f"{operator}\n")
        self.host_key = make_key(self.folder / "host")
        self.namespace: Namespace | None = None
        self.address = ""

    @property
    def here(self) -> Namespace:
        assert self.namespace is not None, "it is off"
        return self.namespace

    def switch_on(self) -> None:
        """Start again, with all files, and with an empty kernel."""
        self.namespace = Namespace(self.label)
        self.address = self.world.join(self.namespace, self.number)
        boot_id, config = self.folder / "boot_id", self.folder / "sshd_config"
        boot_id.write_text(f"{uuid.uuid4()}\n")
        config.write_text(
            f"ListenAddress {self.address}\nHostKey {self.folder / 'host'}\nPidFile none\n"
            f"AuthorizedKeysFile {self.keys}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
            f"SetEnv HOME={self.keys.parent.parent}\n"
        )
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = self.namespace.start(
                "unshare", "--mount", "sh", "-e", "-c", BOOT, "boot", str(boot_id), SSHD, str(config),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        wait_for(lambda: self.process.poll() is not None or self.world.reaches(self.address, 22), CROWDED)
        assert self.process.poll() is None, (self.folder / "log").read_text()

    def cut(self) -> None:
        """Cut the power: all processes end, and peers get no notice."""
        namespace, self.namespace = self.here, None
        self.world.cut_off(self.number)
        namespace.kill()
        self.process.wait()
        namespace.end()

    def end(self) -> None:
        if self.namespace is not None:
            self.namespace.kill()
            self.namespace.end()

    def has(self, instance: int) -> bool:
        """Tell whether the machine of an instance is on this host."""
        return (self.root / "machines" / f"skerry-{instance}").exists()

    def left(self) -> dict[str, list[str]]:
        """Return all traces of machines: files, and objects in the kernel except the host's own."""
        folders = [self.root / each for each in ("machines", "incoming", "outgoing", "tasks", "aside")]
        files = [str(path.relative_to(self.root)) for path in below(folders)]
        traces = self.here.traces()
        own = {"sk-private", "table inet skerry"}
        found = {
            kind: [each for each in traces[kind] if each not in own] for kind in ("links", "proxies", "tables")
        }
        routes = [each for each in traces["routes"] if " sk-private " not in each]
        return {"files": files, "routes": routes, **found}


NOTHING: dict[str, list[str]] = {"files": [], "routes": [], "links": [], "proxies": [], "tables": []}


class Platform:
    """``manage.py serve`` in a namespace of its own, its commands, and a customer."""

    def __init__(self, world: World, state: Path, **env: str):
        self.state = state
        (state / "tmp").mkdir()
        # the workers' files about hosts, keys and connections are apart from those of other servers
        self.env = env | {"TMPDIR": str(state / "tmp")}
        self.namespace = Namespace("platform")
        world.join(self.namespace, 0)
        self.server: Server = self.namespace.do(Server, state, **self.env)

    def ready(self) -> None:
        self.server.ready()
        self.server.read_on()

    def end(self) -> None:
        process = self.server.process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):  # then kill it
                process.wait(CROWDED)
        self.namespace.kill()
        process.wait()
        self.namespace.end()

    # --- the operator ---------------------------------------------------------------------------------------------

    def manage(self, *words: str) -> str:
        """Run a command of ``manage.py``, and return its output."""
        process = self.namespace.start(
            sys.executable, "manage.py", *words, cwd=ROOT, env=environment(self.state) | self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
        assert process.returncode == 0, (words, output, errors)
        return output

    def add(self, machine: Machine, operator: Path, guest: Path) -> str:
        return self.manage(
            "host_add", machine.label, "--region", REGION, "--ssh", f"root@{machine.address}",
            "--location", str(machine.root), "--shared", str(self.state / "shared"), "--identity", str(operator),
            "--fingerprint", fingerprint(machine.host_key), "--user", "nobody", "--guest", str(guest),
            "--networking", "--underlay", machine.address,
        )  # fmt: skip

    def shell(self, *lines: str) -> None:
        """Run Python code in Django's shell, in place of staff in the admin."""
        self.manage("shell", "-c", "\n".join(lines))

    def remove_made_up_hosts(self) -> None:
        """Remove the simulated hosts of the demonstration."""
        self.shell(
            "from django.core.management import call_command",
            "for number in (1, 2):",
            f"    call_command('host_remove', f'{REGION}-h{{number}}')",
        )

    def disable(self, host: str) -> None:
        """Stop a host from accepting instances."""
        self.shell("from compute.models import Host", f"Host.objects.filter(label='{host}').update(enabled=False)")

    def schedule_move(self, instance: int, host: str) -> None:
        """Schedule a move for another day, and let `host`, which has room for it, accept instances again."""
        self.shell(
            "from datetime import timedelta",
            "from django.utils.timezone import now",
            "from compute.models import Host, HostMigration",
            f"Host.objects.filter(label='{host}').update(enabled=True)",
            f"HostMigration.objects.create(instance_id={instance}, when=now() + timedelta(days=1))",
        )

    # --- the customer ---------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self.namespace.do(
            requests.request, method, f"http://127.0.0.1:{self.server.port}/v4{path}", json=body or None,
            headers={"Authorization": f"Bearer {self.server.tokens()[0]}"},
        )  # fmt: skip
        assert answer.status_code == 200, answer.text
        return answer.json()

    def statuses(self) -> dict[int, str]:
        """Return the statuses of the instances in the region of the two hosts, by id."""
        found = self.ask("GET", f"/compute/instances?region={REGION}")["data"]
        return {each["id"]: each["status"] for each in found}

    def events(self, action: str, instance: int) -> list[str]:
        """Return the statuses of an instance's events of one kind."""
        events = self.ask("GET", "/account/events?page_size=500")["data"]
        about = [each for each in events if each["entity"] and each["entity"]["id"] == instance]
        return [each["status"] for each in about if each["action"] == action]

    def settled(self) -> bool:
        """Tell whether nothing is in progress. Fails if an event failed."""
        events = self.ask("GET", "/account/events")["data"]
        failed = [each for each in events if each["status"] == "failed"]
        assert not failed, failed
        return not any(each["status"] in UNFINISHED for each in events)

    def until_running(self, *instances: int) -> None:
        """Wait until these instances run, and nothing is in progress."""
        wanted = set(instances)
        wait_for(
            lambda: wanted <= {pk for pk, status in self.statuses().items() if status == "running"}, every=PACE
        )
        wait_for(self.settled, every=PACE)

    def has_lost(self, host: str) -> bool:
        """Tell whether the server's last message about a host is that it does not answer."""
        log = self.server.text
        return log.rfind(f"host {host} does not answer") > log.rfind(f"host {host} answers again")


class Guest:
    """An instance, as its owner reaches it by ssh from the world.

    Commands share a connection, because making one takes an emulated guest seconds.
    """

    def __init__(self, world: World, made: dict[str, Any], key: Path):
        self.world, self.key, self.id = world, key, made["id"]
        self.address, self.private = made["ipv4"]
        self.ssh = ["ssh", "-F", "none", "-T", "-i", str(self.key), "-l", "root"]
        for option in (
            "BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
            "ConnectTimeout=20", "LogLevel=ERROR", "ServerAliveInterval=10", "ServerAliveCountMax=3",
            "ControlMaster=auto", f"ControlPath={key.parent / f'to-{self.id}'}", "ControlPersist=yes",
        ):  # fmt: skip
            self.ssh += ["-o", option]

    def tries(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command there once by ssh, and return the result."""
        # a file for the messages of ssh: the process that keeps the connection holds it open
        with tempfile.TemporaryFile("w+") as words:
            done = self.world.do(
                subprocess.run, ["timeout", "50", *self.ssh, self.address, command],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=words, text=True,
            )  # fmt: skip
            words.seek(0)
            done.stderr = words.read()
        return done

    def hang_up(self) -> None:
        """Close the connection. Its other end will go soon, or has gone."""
        self.world.do(
            subprocess.run, [*self.ssh, "-O", "exit", self.address],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, command: str) -> str:
        """Return the output of a command that is safe to repeat. Retries until the guest accepts the
        connection."""
        done: list[subprocess.CompletedProcess[str]] = []

        def ran() -> bool:
            done.append(self.tries(command))
            return done[-1].returncode not in (OWN_FAILURE, 124)

        wait_for(ran, every=PACE)
        assert done[-1].returncode == 0, (command, done[-1].stderr)
        return done[-1].stdout.strip()

    def pings(self, address: str) -> bool:
        return self.tries(f"ping -c 1 -W 5 {address}").returncode == 0

    def boot(self) -> str:
        return self.run("cat /proc/sys/kernel/random/boot_id")

    def lets_in(self, port: int, patience: float = 4.0) -> bool:
        """Tell whether the world reaches a port. Within four seconds TCP tries three times."""
        return self.world.reaches(self.address, port, patience)
