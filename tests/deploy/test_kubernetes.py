"""The manifests of Kubernetes, compared with each other, with the image, and with the processes."""

import re
from typing import Any

from django.conf import settings
from django.urls import resolve

from tests.deploy.samples import DEPLOY, MAX_REQUEST_SECONDS, ROOT, composed, documents, pods

SERVING = ("web", "stream")
IMAGE = (ROOT / "Containerfile").read_text()


def kind(name: str) -> list[dict[str, Any]]:
    return [each for each in documents() if each["kind"] == name]


def configuration() -> dict[str, str]:
    [found] = kind("ConfigMap")
    data: dict[str, str] = found["data"]
    return data


def container(component: str) -> dict[str, Any]:
    [found] = pods()[component]["containers"]
    return dict(found)


def chosen(labels: dict[str, str]) -> list[str]:
    """Return the deployments whose pods have these labels."""
    return [
        each["metadata"]["name"]
        for each in kind("Deployment")
        if labels.items() <= each["spec"]["template"]["metadata"]["labels"].items()
    ]


def test_selectors_choose_the_pods_of_one_deployment():
    for deployment in kind("Deployment"):
        name = deployment["metadata"]["name"]
        assert chosen(deployment["spec"]["selector"]["matchLabels"]) == [name]
        for spread in deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", []):
            assert chosen(spread["labelSelector"]["matchLabels"]) == [name]
    for budget in kind("PodDisruptionBudget"):
        assert chosen(budget["spec"]["selector"]["matchLabels"]) == [budget["metadata"]["name"]]
    for service in kind("Service"):
        name = service["metadata"]["name"]
        assert chosen(service["spec"]["selector"]) == ([] if name == "skerry-nothing" else [name])
        assert chosen({"app.kubernetes.io/component": "migrate"}) == []


def test_paths_from_outside_end_at_the_port_of_a_process():
    [exposed] = re.findall(r"^EXPOSE (\d+)$", IMAGE, re.MULTILINE)
    for component in SERVING:
        assert container(component)["ports"] == [{"name": "http", "containerPort": int(exposed)}]
    ports = {each["metadata"]["name"]: each["spec"]["ports"] for each in kind("Service")}
    for name in ("skerry-web", "skerry-stream"):
        assert ports[name] == [{"name": "http", "port": 80, "targetPort": "http"}]
    for ingress in kind("Ingress"):
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                assert backend["port"] == {"name": ports[backend["name"]][0]["name"]}


def test_all_go_by_one_name():
    data = configuration()
    host = data["ALLOWED_HOSTS"]
    assert data["SITE_URL"] == f"https://{host}"
    for ingress in kind("Ingress"):
        assert [rule["host"] for rule in ingress["spec"]["rules"]] == [host]
        assert [each["hosts"] for each in ingress["spec"]["tls"]] == [[host]]
    for component in SERVING:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container(component)[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": host}]


def test_probes_request_existing_addresses():
    asked = {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    for component in ("web", "stream", "worker", "clock"):
        probes = {name: each for name, each in container(component).items() if name.endswith("Probe")}
        if component in SERVING:
            assert {name: each["httpGet"]["path"] for name, each in probes.items()} == asked
            assert {each["httpGet"]["port"] for each in probes.values()} == {"http"}
        else:
            assert probes == {}, "heartbeats tell of it"
    for path in asked.values():
        assert resolve(path)


def test_a_pod_that_ends_is_given_the_time_for_it():
    """No pod is killed while it works, and none closes its port before the readiness probe has noticed."""
    drain = int(configuration()["DRAIN_SECONDS"])
    for component in SERVING:
        assert pods()[component]["terminationGracePeriodSeconds"] > drain + MAX_REQUEST_SECONDS
        probe = container(component)["readinessProbe"]
        assert probe["failureThreshold"] * (probe["periodSeconds"] + probe["timeoutSeconds"]) < drain
    for component in ("worker", "clock"):
        assert pods()[component]["terminationGracePeriodSeconds"] > settings.JOB_HARD_LIMIT


def test_commands_are_those_of_the_image_and_of_the_compose_file():
    """In any order, and with as many children as each has room for."""
    of_image = re.findall(r'"([^"]*)"', IMAGE.splitlines()[-1])
    assert sorted(container("web")["command"]) == sorted(of_image)
    twins = {"stream": "stream", "worker": "worker1", "clock": "clock", "migrate": "migrate"}
    for component, name in twins.items():
        ours, theirs = list(container(component)["command"]), list(composed()[name]["command"])
        for command in (ours, theirs):
            if "--concurrency" in command:
                del command[command.index("--concurrency") + 1]
        assert sorted(ours) == sorted(theirs), component


def test_pods_run_as_the_user_of_the_image_and_mount_its_volume():
    [user] = re.findall(r"^USER (\d+)$", IMAGE, re.MULTILINE)
    [volume] = re.findall(r'^VOLUME \["(.*)"\]$', IMAGE, re.MULTILINE)
    [claim] = kind("PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for component, pod in pods().items():
        context = pod["securityContext"]
        assert {context["runAsUser"], context["runAsGroup"], context["fsGroup"]} == {int(user)}, component
        mounts = {each["mountPath"]: each["name"] for each in container(component)["volumeMounts"]}
        volumes = {each.pop("name"): each for each in pod["volumes"]}
        assert volumes.keys() == set(mounts.values()), component
        assert volumes[mounts[volume]] == {"persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
        assert "emptyDir" in volumes[mounts["/tmp"]], component


def test_variables_come_from_the_config_map_and_the_secret():
    [found] = kind("ConfigMap")
    for component in pods():
        name = {"name": found["metadata"]["name"]}
        assert container(component)["envFrom"] == [{"configMapRef": name}, {"secretRef": name}], component
    page = (DEPLOY / "kubernetes" / "config.yaml").read_text()
    secret = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", page.partition("apiVersion")[0]))
    assert {"SECRET_KEY", "DATABASE_URL"} < secret
    known = set(re.findall(r'env\.\w+\(\s*"([A-Z_0-9]+)"', (ROOT / "config" / "settings.py").read_text()))
    assert secret <= known
    assert not secret & configuration().keys()


def test_everything_but_the_migration_is_applied_at_once():
    [built] = kind("Kustomization")
    files = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert set(built["resources"]) == files - {"kustomization.yaml", "migrate.yaml"}


def test_commands_of_the_page_are_for_the_namespace_of_the_files_and_in_their_order():
    """The job needs the Secret, the ConfigMap and the claim, which are in the namespace that kustomize sets."""
    [built] = kind("Kustomization")
    page = (DEPLOY / "README.md").read_text().partition("## With Kubernetes")[2].partition("```text\n")[2]
    space = f"kubectl -n {built['namespace']} "
    [job] = kind("Job")
    made, secret, applied, waits, rest = page.partition("```")[0].splitlines()
    assert made == f"kubectl create namespace {built['namespace']}"
    assert secret.startswith(f"{space}create secret generic skerry ")
    assert applied == f"{space}apply -f config.yaml -f migrate.yaml"
    assert waits.startswith(f"{space}wait ")
    assert waits.endswith(f" job/{job['metadata']['name']}")
    assert rest == "kubectl apply -k ."
    assert {document["kind"] for document in documents() if "namespace" in document.get("metadata", {})} == set()
