"""The examples, run by the orchestrators."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
from tests.orchestrators.conftest import EXAMPLES, python_with
from tests.support.processes import environment
from tests.support.seals import make_seal

HERE = Path(__file__).parent
NO_STORE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",  # no server listens there
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",  # pragma: allowlist secret
    "AWS_REGION": "any",
}


def run(python: Path, script: str, *arguments: str, **variables: str) -> Any:
    done = subprocess.run(
        [str(python), str(HERE / script), *arguments],
        env=environment(**variables), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_dagster_publishes_retries_transient_failures_and_fails_on_permanent_ones(
    seals: Path, tmp_path: Path
) -> None:
    python = python_with("dagster", "dagster==1.13.29", project=True)
    root = str(tmp_path / "root")
    variables = {
        "ALPHA_RESULTS_SEALS": str(seals), "ALPHA_RESULTS_DATASETS": root, "RETRY_SECONDS": "0",
        "DAGSTER_HOME": "", "DAGSTER_DISABLE_TELEMETRY": "yes",
    }  # fmt: skip
    first = run(python, "with_dagster.py", str(EXAMPLES), **variables)
    assert (first["succeeded"], first["retries"], len(first["failures"])) == (False, 0, 1)
    assert "Test_broken" in first["failures"][0]
    assert list(datasets.open(root)) == ["Test_good"], "the good one is published all the same"
    away = variables | {"ALPHA_RESULTS_DATASETS": "s3://nowhere/root"} | NO_STORE
    assert run(python, "with_dagster.py", str(EXAMPLES), **away)["retries"] == 3
    shutil.rmtree(seals / "Test_broken")
    make_seal(seals, alpha_id="Test_broken", weeks=14, raw=False, seed=2)
    again = run(python, "with_dagster.py", str(EXAMPLES), **variables)
    assert (again["succeeded"], again["counts"]) == (True, [{"built": 1, "unchanged": 1}])
    assert again["schedule"] == "*/15 * * * *"


def test_airflow_publishes_in_its_own_environment_and_reports_failures(seals: Path, tmp_path: Path) -> None:
    airflow = python_with("airflow", "apache-airflow==3.3.2", project=False)
    builds = python_with("project", project=True)
    dags = tmp_path / "airflow" / "dags"
    dags.mkdir(parents=True)
    shutil.copy(EXAMPLES / "airflow_publish.py", dags)
    result = run(
        airflow,
        "with_airflow.py",
        AIRFLOW_HOME=str(dags.parent),
        AIRFLOW__CORE__LOAD_EXAMPLES="False",
        ALPHA_RESULTS_PYTHON=str(builds),
        ALPHA_RESULTS_SEALS=str(seals),
        ALPHA_RESULTS_DATASETS=str(tmp_path / "root"),
    )
    assert result == {"state": "failed", "tasks": {"publish": ["success", 1], "require_none": ["failed", 1]}}
    assert list(datasets.open(tmp_path / "root")) == ["Test_good"]


def test_cron_mails_only_failures_that_need_attention(seals: Path, tmp_path: Path) -> None:
    def publish(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(EXAMPLES / "publish-from-cron")],
            env=environment(
                **{
                    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                    "ALPHA_RESULTS_SEALS": str(seals),
                    "ALPHA_RESULTS_DATASETS": str(tmp_path / "root"),
                    "LOG": str(tmp_path / "build.jsonl"),
                    "LOCK": str(tmp_path / "lock"),
                    **variables,
                }
            ),
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    first = publish()
    assert first.returncode == 1
    assert "Test_broken" in first.stdout
    assert list(datasets.open(tmp_path / "root")) == ["Test_good"]
    second = publish()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", ""), "told before: nothing new"
    away = publish(ALPHA_RESULTS_DATASETS="s3://nowhere/root", **NO_STORE)
    assert (away.returncode, away.stdout, away.stderr) == (0, "", ""), "the next run does the rest"
    lines = [json.loads(line) for line in (tmp_path / "build.jsonl").read_text().splitlines()]
    assert [line["exit_code"] for line in lines if "exit_code" in line] == [1, 8, 5]
    ended = tmp_path / "path" / "alpha-results"  # by the shutdown of the machine, before it handles signals
    ended.parent.mkdir()
    ended.write_text("#!/bin/sh\nkill -TERM $$\n")
    ended.chmod(0o755)
    shutdown = publish(PATH=f"{ended.parent}{os.pathsep}{os.environ['PATH']}")
    assert (shutdown.returncode, shutdown.stdout) == (0, "")
    with (tmp_path / "lock").open("w") as lock:
        import fcntl  # noqa: PLC0415 - only here

        fcntl.flock(lock, fcntl.LOCK_EX)
        assert publish().returncode == 0, "the run before is still at it"
    assert len((tmp_path / "build.jsonl").read_text().splitlines()) == len(lines)
