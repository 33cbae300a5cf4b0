"""The samples of docs/deploy, as the tests read them."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "docs" / "deploy"
MAX_REQUEST_SECONDS = 75
"""Seconds that HAProxy's sample waits for an answer."""


def documents() -> list[dict[str, Any]]:
    """Return the objects in all files for Kubernetes."""
    found = [yaml.safe_load_all(path.read_text()) for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))]
    return [document for documents in found for document in documents]


def pods() -> dict[str, dict[str, Any]]:
    """Return the pod specifications of each kind of process, and of the migration."""
    kinds = ("Deployment", "Job")
    found = [each for each in documents() if each["kind"] in kinds]
    return {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"]["template"]["spec"]
        for each in found
    }


def composed() -> dict[str, dict[str, Any]]:
    """Return all services of the compose file."""
    every: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return every


def services() -> dict[str, dict[str, Any]]:
    """Return the services of the compose file that use our image."""
    return {name: each for name, each in composed().items() if each["image"].startswith("skerry:")}
