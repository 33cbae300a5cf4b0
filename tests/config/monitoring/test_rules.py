"""Prometheus evaluates the rules of the docs on sample readings. promtool advances the time."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.compute.drivers.qemu.disk_files import needs
from tests.lock_files import ROOT

RULES = ROOT / "docs" / "monitoring" / "alerts.yaml"
READINGS = Path(__file__).with_name("alerts.yaml")

pytestmark = pytest.mark.guest


def promtool(*words: str | Path) -> None:
    needs("promtool")
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_are_as_prometheus_wants_them():
    promtool("check", "rules", RULES)


def test_rules_fire_when_something_is_wrong_and_only_then():
    promtool("test", "rules", READINGS)


def test_each_rule_has_readings_at_which_it_fires():
    names = {rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
    assert names == set(re.findall(r'alertname="(\w+)"', READINGS.read_text()))
