"""The built image publishes and serves, unprivileged and with a read-only root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, environment

SCRIPT = """
echo "user $(id -u)"
if touch /app/written 2>/dev/null; then echo "the root can be written"; exit 1; fi
/app/entrypoint pipeline simulate --out /tmp/simulation --weeks 60 --names 30 >/dev/null
/app/entrypoint pipeline build /tmp/simulation/sim_lowvol
mkdir -p /published/leases
$ENTRY 2>/tmp/log &
server=$!
for _ in $(seq 600); do
  kill -0 $server || { cat /tmp/log; exit 1; }
  curl -sf "http://127.0.0.1:$ALPHA_RESULTS_PORT/v1/health" && break
  sleep 0.2
done
/app/healthcheck
kill $server
wait $server || echo " ended with $?"
"""


def test_the_image_built_in_a_clean_root_publishes_and_serves(
    tmp_path: Path,
) -> None:
    if os.environ.get("TEST_IMAGE") != "required":
        pytest.skip("an environment of some 780 MB is made for it: `just image` does")
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    if (
        os.geteuid() != 0
        or shutil.which("unshare") is None
        or subprocess.run([*own, "true"], check=False).returncode
    ):
        pytest.skip("only root may have mounts of its own, where the system lets anybody")
    try:
        done = subprocess.run(
            [*own, sys.executable, "-m", "tests.deploy.image", str(tmp_path / "root"), SCRIPT],
            cwd=REPOSITORY,
            env=environment(
                ALPHA_RESULTS_PORT=str(free_port()), ALPHA_RESULTS_HOST="127.0.0.1", ALPHA_RESULTS_PEPPER="of-no-use-anywhere-01"
            ),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(tmp_path / "root")  # its mounts ended with the namespace
    assert done.returncode == 0, done.stdout + done.stderr
    assert "user 10001" in done.stdout
    assert "sim_lowvol: published snapshot" in done.stdout
    assert '"status":"ok"' in done.stdout
    assert "ended with 143" in done.stdout
