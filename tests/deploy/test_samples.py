"""The samples of docs/deploy: checked by the programs that they are for, and compared with each other."""

import re
import subprocess
from pathlib import Path

import pytest

from config.version import VERSION
from tests.certificates import certificate, new_key, pem
from tests.compute.drivers.qemu.disk_files import needs
from tests.deploy.samples import DEPLOY, ROOT, composed, documents, pods, services
from tests.tours.pages import replaced

UNITS = sorted(path for path in (DEPLOY / "systemd").iterdir() if path.suffix in (".service", ".target", ".timer"))
VARIABLE = re.compile(r'env\.\w+\(\s*"([A-Z_0-9]+)"')
PROCESSES = {
    "web": "config.rsgi:application",
    "stream": "config.streams:application",
    "worker": "worker",
    "clock": "beat",
}
"""For each kind of process, the end or a part of its command."""
EXPOSED = 20
"""Ten times the highest exposure that systemd may report, from 0 to 10."""


def checked(*command: str | Path) -> str:
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, cwd=DEPLOY / "systemd")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A certificate and its key in one file, as HAProxy wants them."""
    key = new_key()
    path = tmp_path / "cloud.pem"
    path.write_text(certificate(key, "cloud.example.com", "cloud.example.com") + pem(key))
    return path


@pytest.mark.guest
def test_haproxy_finds_nothing_to_complain_of(tmp_path: Path, bundle: Path):
    needs("haproxy")
    sample = (DEPLOY / "haproxy.cfg").read_text()
    mine = {"/etc/haproxy/certs/cloud.example.com.pem": str(bundle), "    user haproxy\n    group haproxy\n": ""}
    (tmp_path / "haproxy.cfg").write_text(replaced(sample, mine))
    output = checked("haproxy", "-c", "-f", tmp_path / "haproxy.cfg")
    assert "Configuration file is valid" in output
    assert "[WARNING]" not in output


@pytest.mark.guest
def test_haproxy_takes_its_sample_before_containers(tmp_path: Path, bundle: Path):
    """The sample is changed by the script for sed. Every line of the script must match a line of the sample."""
    needs("haproxy")
    script = DEPLOY / "haproxy-compose.sed"
    text = checked("sed", "-f", script, "-e", r"s/cloud\.example\.com/my.example.org/g", DEPLOY / "haproxy.cfg")
    assert "user haproxy" not in text
    assert "/dev/log" not in text
    assert "cloud.example.com" not in text
    servers = re.findall(r"^    server \S+ (\w+):8000$", text, re.MULTILINE)
    assert servers == ["web1", "web2", "stream"]
    assert composed().keys() > set(servers)
    assert len(re.findall(r"^    default-server .* resolvers engine ", text, re.MULTILINE)) == 2
    mine = replaced(text, {"/etc/haproxy/certs/my.example.org.pem": str(bundle)})
    (tmp_path / "haproxy.cfg").write_text(mine)
    assert "Configuration file is valid" in checked("haproxy", "-c", "-f", tmp_path / "haproxy.cfg")


@pytest.mark.guest
def test_caddy_takes_its_sample():
    needs("caddy")
    output = checked("caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")
    assert "Valid configuration" in output


@pytest.mark.guest
def test_systemd_takes_the_units_and_finds_them_shut(tmp_path: Path):
    """Systemd looks for programs at the paths of the unit. Here each of them is true(1), except the script."""
    needs("systemd-analyze")
    for unit in UNITS:
        text = unit.read_text().replace("/opt/skerry/.venv/bin/granian", "/bin/true")
        text = text.replace("/opt/skerry/.venv/bin/celery", "/bin/true")
        text = text.replace("ExecStart=/opt/skerry/docs/deploy", f"ExecStart={DEPLOY}")
        (tmp_path / unit.name).write_text(text.replace("/opt/skerry/.venv/bin/python", "/bin/true"))
    assert checked("systemd-analyze", "verify", "--man=no", *sorted(tmp_path.glob("skerry*"))) == ""
    for service in sorted(tmp_path.glob("*.service")):
        checked("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSED}", service)


def test_no_container_is_root_or_writes_its_root():
    for name, pod in pods().items():
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"], name
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"], name
        assert not context["allowPrivilegeEscalation"], name
        assert context["capabilities"] == {"drop": ["ALL"]}, name
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/tmp"}, name
    for name, service in services().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["volumes"] == ["data:/data"], name
        assert [each.partition(":")[0] for each in service["tmpfs"]] == ["/tmp"], name
    assert re.search(r"^USER [1-9]\d*$", (ROOT / "Containerfile").read_text(), re.MULTILINE)


def test_every_kind_of_process_is_run_by_each():
    assert pods().keys() == {*PROCESSES, "migrate"}
    assert services().keys() == {"migrate", "web1", "web2", "stream", "worker1", "worker2", "clock"}
    image = (ROOT / "Containerfile").read_text().splitlines()[-1]
    for kind, word in PROCESSES.items():
        unit = (DEPLOY / "systemd" / f"skerry-{kind}.service").read_text()
        assert word in re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)[0].split(), kind
        assert word in pods()[kind]["containers"][0]["command"], kind
    assert f'"{PROCESSES["web"]}"' in image
    for name, service in services().items():
        kind = name.rstrip("12")
        if kind not in ("web", "migrate"):
            assert PROCESSES[kind] in service["command"], name


def test_secrets_are_named_and_not_written():
    """A Secret is created by hand. The files refer to it, and the compose file refers to its environment."""
    assert not [each for each in documents() if each["kind"] == "Secret"]
    for name, pod in pods().items():
        assert {"secretRef": {"name": "skerry"}} in pod["containers"][0]["envFrom"], name
    for service in services().values():
        for name in ("SECRET_KEY", "ENCRYPTION_KEYS", "EMAIL_URL"):
            assert service["environment"][name].startswith(f"${{{name}:?")
    assert composed()["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
    assert composed()["redis"]["command"][-1].startswith("${REDIS_PASSWORD:?")


def test_samples_set_all_variables_of_the_readme():
    """`check --deploy` warns of an installation without these."""
    _, _, rest = (ROOT / "README.md").read_text().partition("## For real")
    exported = re.findall(r"^export .*", rest, re.MULTILINE)
    wanted = {name for line in exported for name in re.findall(r"\b([A-Z_]+)=", line)}
    assert {"SECRET_KEY", "STATE_DIR", "DNS_NAMESERVERS"} < wanted

    unit = re.findall(r"^([A-Z_]+)=", (DEPLOY / "systemd" / "skerry.env").read_text(), re.MULTILINE)
    assert wanted - set(unit) == set()
    in_image = set(re.findall(r"\b([A-Z_]+)=/", (ROOT / "Containerfile").read_text()))
    for name, service in services().items():
        assert wanted - service["environment"].keys() - in_image == set(), name
    [configuration] = [each for each in documents() if each["kind"] == "ConfigMap"]
    page = (DEPLOY / "kubernetes" / "config.yaml").read_text()
    secret = {name for name in wanted if re.search(rf"^# .*\b{name}\b", page, re.MULTILINE)}
    assert wanted - configuration["data"].keys() - secret - in_image == set()


def test_every_variable_is_one_that_is_read_and_every_image_is_of_this_release():
    known = set(VARIABLE.findall((ROOT / "config" / "settings.py").read_text()))
    [configuration] = [each for each in documents() if each["kind"] == "ConfigMap"]
    lines = (DEPLOY / "systemd" / "skerry.env").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    for service in services().values():
        named |= service["environment"].keys()
        assert service["image"] == f"skerry:${{SKERRY_TAG:-{VERSION}}}"
    assert named | configuration["data"].keys() <= known
    assert {pod["containers"][0]["image"] for pod in pods().values()} == {f"registry.example.com/skerry:{VERSION}"}
    assert f"\n## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text()
