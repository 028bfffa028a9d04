"""The manifests are valid, run existing commands, and drain nodes before they end."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from pipeline.group import cli as pipeline
from schemas.settings import SETTINGS
from serve.cli.group import serve
from serve.server import CLOSING_SECONDS
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY
from tests.support.server import served

FOLDER = REPOSITORY / "deploy" / "kubernetes"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
BY_VARIABLE = {setting.variable: setting for setting in SETTINGS.values()}
RELEASES = ("1.31", "1.34", kubernetes_validate.latest_version())


def manifests() -> Iterator[dict[str, Any]]:
    for path in FILES:
        yield from yaml.safe_load_all(path.read_text())


def of_kind(*kinds: str) -> dict[str, dict[str, Any]]:
    return {result["metadata"]["name"]: result for result in manifests() if result["kind"] in kinds}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the pod of everything that runs."""
    for name, actual in of_kind("Deployment", "Job").items():
        yield name, actual["spec"]["template"]["spec"]
    for name, actual in of_kind("CronJob").items():
        yield name, actual["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def settings() -> dict[str, str]:
    (actual,) = of_kind("ConfigMap").values()
    values: dict[str, str] = actual["data"]
    return values


@pytest.mark.parametrize("release", RELEASES)
def test_every_manifest_is_valid(release: str) -> None:
    for manifest in manifests():
        kubernetes_validate.validate(manifest, release, strict=True)


def test_the_kustomization_names_every_manifest() -> None:
    full = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert sorted(full["resources"]) == [path.name for path in FILES]


def test_the_containers_run_existing_commands() -> None:
    programs = {"serve": serve, "pipeline": pipeline}
    for name, pod in pods():
        (container,) = pod["containers"]
        program, *rest = container["args"]
        result = CliRunner().invoke(programs[program], [*rest, "--help"])
        assert result.exit_code == 0, (name, result.output)


def test_the_settings_are_declared_valid_and_without_secrets() -> None:
    for variable, value in settings().items():
        BY_VARIABLE[variable].kind.read(value)
    wanted = re.findall(r"^(\w+)=$", (FOLDER / "secret.env.example").read_text(), re.MULTILINE)
    assert {"ALPHA_RESULTS_ACCESS", "ALPHA_RESULTS_PEPPER", "ALPHA_RESULTS_REDIS"} <= set(wanted)
    assert not set(wanted) & set(settings())


def test_the_containers_have_minimal_rights() -> None:
    for name, pod in pods():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] == 10001, name
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert {"/tmp", "/state"} == {mount["mountPath"] for mount in container["volumeMounts"]}, name
            assert "memory" in container["resources"]["limits"], name


def test_a_nodes_caches_fit_its_volume() -> None:
    pod = of_kind("Deployment")["alpha-results-serve"]["spec"]["template"]["spec"]
    (state,) = (volume for volume in pod["volumes"] if volume["name"] == "state")
    kept = sum(int(settings()[f"ALPHA_RESULTS_{name}_BYTES"]) for name in ("CACHE", "ROWS"))
    assert kept * 1.1 < float(state["emptyDir"]["sizeLimit"].removesuffix("Gi")) * 2**30


def test_a_node_drains_before_its_port_closes() -> None:
    pod = of_kind("Deployment")["alpha-results-serve"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    delay = float(settings()["ALPHA_RESULTS_DRAIN_DELAY_SECONDS"])
    ready = container["readinessProbe"]
    assert (ready["periodSeconds"] + ready["timeoutSeconds"]) * ready["failureThreshold"] < delay
    drain = float(settings()["ALPHA_RESULTS_DRAIN_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] > delay + drain + CLOSING_SECONDS
    budget = of_kind("PodDisruptionBudget")["alpha-results-serve"]["spec"]
    replicas = of_kind("Deployment")["alpha-results-serve"]["spec"]["replicas"]
    assert budget["minAvailable"] < replicas


def test_the_probes_use_existing_endpoints() -> None:
    pod = of_kind("Deployment")["alpha-results-serve"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    requested = {
        (container[f"{name}Probe"]["httpGet"]["port"], container[f"{name}Probe"]["httpGet"]["path"])
        for name in ("startup", "readiness", "liveness")
    }
    assert requested == {("http", "/v1/health"), ("metrics", "/ready"), ("metrics", "/live")}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": 8000, "metrics": int(settings()["ALPHA_RESULTS_METRICS_PORT"])}


def healthy(tmp_path: Path, command: str, port: str, **variables: str) -> bool:
    """Run the image's health check for a container with this command line and these variables."""
    first = tmp_path / "cmdline"
    first.write_bytes(command.replace(" ", "\0").encode())
    check = (REPOSITORY / "deploy" / "healthcheck").read_text().replace("/proc/1/cmdline", str(first))
    assert str(first) in check
    done = subprocess.run(
        ["/bin/sh", "-c", check], env={"PATH": "/usr/bin:/bin", "ALPHA_RESULTS_PORT": port, **variables},
        check=False, capture_output=True,
    )  # fmt: skip
    return done.returncode == 0


def test_the_health_check_covers_servers_and_batch_jobs(server_root: Path, tmp_path: Path) -> None:
    with served(server_root) as (_, base):
        port = base.rpartition(":")[2]
        assert healthy(tmp_path, "python -m serve run", port)
        proxy = f"http://127.0.0.1:{free_port()}"  # nothing listens there
        assert healthy(tmp_path, "python -m serve run", port, http_proxy=proxy, HTTP_PROXY=proxy)
    assert not healthy(tmp_path, "python -m serve run", port)
    assert healthy(tmp_path, "python -m pipeline build --watch", port)
