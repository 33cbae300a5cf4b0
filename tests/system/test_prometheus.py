"""A real Prometheus scrapes a real installation, and answers each rule and each panel of the docs."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.compute.drivers.qemu.disk_files import needs
from tests.ports import free_port
from tests.system.server import ROOT, Server
from tests.waiting import wait_for

pytestmark = pytest.mark.system

TOKEN = "prometheus-reads-this"
RULES = ROOT / "docs" / "monitoring" / "alerts.yaml"
DASHBOARD = ROOT / "docs" / "monitoring" / "dashboard.json"
CREATE = {
    "type": "g6-nanode-1",
    "region": "us-east",
    "image": "compute/debian11",
    "root_pass": "Tall-ships.sail-at-9",
}
QUIET = {"skerry_job_step_failures_total"}
"""Metrics without a series on an installation where nothing ever failed."""


class Prometheus:
    """A Prometheus that scrapes an installation every few seconds, with a timeout of the same length."""

    def __init__(self, folder: Path, target: int):
        self.port = free_port()
        config = {
            "global": {"scrape_interval": "5s", "evaluation_interval": "5s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {
                    "job_name": "skerry",
                    "authorization": {"credentials": TOKEN},
                    "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
                }
            ],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log, stderr=log,
            )  # fmt: skip

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the series of a query. Empty while Prometheus starts."""
        try:
            answer = requests.get(f"http://127.0.0.1:{self.port}/api/v1/query", {"query": query}, timeout=60)
        except requests.ConnectionError:
            return []
        if answer.status_code == 503:  # the answer while it reloads its stored data
            return []
        found = answer.json()
        assert found["status"] == "success", (query, found)
        series: list[dict[str, Any]] = found["data"]["result"]
        return series


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "state").mkdir(mode=0o700)
    made = Server(tmp_path / "state", METRICS_TOKEN=TOKEN, DRIVER_SCALE="0")
    made.ready()
    made.read_on()
    yield made
    made.stop()


@pytest.fixture
def prometheus(server: Server, tmp_path: Path) -> Iterator[Prometheus]:
    needs("prometheus")
    (tmp_path / "prometheus").mkdir()
    made = Prometheus(tmp_path / "prometheus", server.port)
    yield made
    made.process.terminate()
    made.process.wait()


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\bskerry_\w+", query))


def panels() -> list[tuple[str, str]]:
    """Return title and query of each line of the dashboard, over the last minute."""
    found = json.loads(DASHBOARD.read_text())["panels"]
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "1m"))
        for panel in found for target in panel["targets"]
    ]  # fmt: skip


def test_prometheus_reads_an_installation_and_answers_each_panel_and_rule(server, prometheus):
    headers = {"Authorization": f"Bearer {server.tokens()[0]}"}
    made = requests.post(
        f"http://127.0.0.1:{server.port}/v4/compute/instances", json=CREATE, headers=headers, timeout=60
    )
    assert made.status_code == 200, made.text
    # which takes two scrapes
    wait_for(lambda: prometheus.ask("sum(increase(skerry_sweeps_total[1m])) > 0"))
    wait_for(lambda: prometheus.ask('sum(skerry_job_seconds_count{kind="provision", outcome="done"}) > 0'))
    wait_for(lambda: prometheus.ask('skerry_instances{status="running"} == 2'))
    wait_for(
        lambda: prometheus.ask('sum(skerry_requests_total{route="/v4/compute/instances", method="POST"}) == 1')
    )
    wait_for(lambda: len(prometheus.ask("sum by (kind) (skerry_processes) > 0")) == 4)

    for title, query in panels():
        if not names_in(query) & QUIET:
            wait_for(lambda query=query: prometheus.ask(query.replace("5..", "2..")))
        else:
            assert isinstance(prometheus.ask(query), list), title
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            for name in names_in(rule["expr"]) - QUIET:
                wait_for(lambda name=name: prometheus.ask(f"count(last_over_time({name}[5m]))"))
            prometheus.ask(rule["expr"])
