"""The first deployment of docs/operations.md, in an empty folder instead of an empty machine.

A separate machine is simulated: paths are below a folder, packages and the user are assumed to exist, and the commands of units
that `systemctl` starts run without the confinement of the units. nginx and TLS are real.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import eventually

DOCUMENT = REPOSITORY / "docs" / "operations.md"
NAME = "alphas.example.org"
LINK = f"""
    call() {{ curl -s --fail --cacert /etc/ssl/alpha-results/fullchain.pem -H "Authorization: Bearer $KEY" "$@"; }}
    link=$(call https://{NAME}/v1/alphas/sim_lowvol/tables/decisions/download | sed 's/.*"url":"\\([^"]*\\)".*/\\1/')
    call -o decisions.parquet "https://{NAME}/${{link#*{NAME}/}}"
"""
_ABSENT = ("apt-get", "useradd", "systemctl", "uv", "pip")
"""Commands that are not run, because their results are already present."""


def commands_of(title: str) -> list[str]:
    """Return the commands printed below a title of the document, block by block."""
    text = DOCUMENT.read_text()
    section = text[text.index(f"\n{title}\n") :]
    section = section[: section.index("\n## ", len(title))]
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in blocks]


def steps() -> list[str]:
    return commands_of("### First deployment, in order")


class Machine:
    """A folder that represents the machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api, self.metrics, self.tls, self.plain = (free_port() for _ in range(4))
        self.stubs = folder / "stubs"
        self.stubs.mkdir()
        for name in _ABSENT:
            self.stub(name, "exit 0")
        self.stub("runuser", 'shift 3; exec "$@"')
        self.stub("install", f'exec {shutil.which("install")} $(echo " $@" | sed "s/ -[og] [a-z-]*//g")')
        (folder / "etc/nginx/sites-enabled").mkdir(parents=True)
        (folder / "etc/systemd/system").mkdir(parents=True)
        (folder / "opt").mkdir()
        (folder / "var/log/nginx").mkdir(parents=True)

    def stub(self, name: str, script: str) -> None:
        path = self.stubs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def here(self, text: str) -> str:
        """Return commands or a file with this folder's paths and ports."""
        text = re.sub(r"(?<![\w.:/])/(opt|srv|etc|var/lib|var/cache|var/log)/", f"{self.folder}/\\1/", text)
        text = text.replace("…/checkout", str(REPOSITORY))
        for port, other in ((8000, self.api), (9108, self.metrics), (443, self.tls), (80, self.plain)):
            text = re.sub(rf"(?<=127\.0\.0\.1:){port}\b|(?<=METRICS_PORT=){port}\b", str(other), text)
            text = re.sub(rf"(?<=listen ){port}\b", f"127.0.0.1:{other}", text)
        return text.replace(f"https://{NAME}/", f"https://{NAME}:{self.tls}/")

    def run(self, script: str) -> str:
        """Run commands in a shell that stops at the first failure."""
        path = f"{self.stubs}:{os.environ['PATH']}"
        resolved = f'curl() {{ command curl --resolve {NAME}:{self.tls}:127.0.0.1 "$@"; }}\n'
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", resolved + self.here(script)],
            cwd=self.folder, env=environment(PATH=path), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def unit(self, name: str, **more: str) -> Iterator[None]:
        """Run a unit's command with its variables."""
        text = self.here((self.folder / f"etc/systemd/system/{name}.service").read_text())
        variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
        (file,) = re.findall(r"^EnvironmentFile=(.*)$", text, re.MULTILINE)
        variables |= dict(line.split("=", 1) for line in Path(file).read_text().splitlines())
        (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        for place, kind in (("var/lib", "State"), ("var/cache", "Cache")):
            for folder in re.findall(rf"^{kind}Directory=(.*)$", text, re.MULTILINE):
                (self.folder / place / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                shlex.split(command), cwd=self.folder / "opt/alpha-results", stdout=log, stderr=log,
                env=environment(**variables, **more),
            )  # fmt: skip
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait()


@contextmanager
def nginx(machine: Machine) -> Iterator[None]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx, of Debian's package nginx-light, is not installed (.ci/nightly installs it)")
    site = machine.folder / "etc/nginx/sites-enabled/alpha-results"
    full = machine.folder / "nginx.conf"
    temporary = "".join(
        f"{name}_temp_path {machine.folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    full.write_text(
        f"pid {machine.folder}/nginx.pid;\ndaemon off;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{machine.here(site.read_text())}\n}}\n"
    )
    process = subprocess.Popen([program, "-c", str(full), "-e", "stderr"], stderr=subprocess.PIPE)
    try:
        yield
    finally:
        process.terminate()
        process.communicate()


def test_the_printed_steps_serve_an_alpha_behind_tls(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    program, folders, seal, units, tls, key = steps()
    ignored = shutil.ignore_patterns(".git", ".venv", ".bench", ".demo", "__pycache__", "tests")
    shutil.copytree(REPOSITORY, tmp_path / "opt/alpha-results", ignore=ignored)
    (tmp_path / "opt/alpha-results/.venv").symlink_to(sys.prefix)
    # The environment is that of the tests; this project's own modules are compiled as printed.
    install, own = program.split("--project /opt/alpha-results\n")
    assert "uv sync" in install
    assert "--compile-bytecode" in install, "the units may not write next to the libraries"
    machine.run(own)
    for package in ("schemas", "datasets", "pipeline", "serve"):
        sources = (tmp_path / "opt/alpha-results" / package).rglob("*.py")
        assert all(Path(importlib.util.cache_from_source(str(source))).exists() for source in sources)
    machine.run(folders)
    machine.run(seal)
    copying, waiting = units.split("systemctl daemon-reload\n")
    machine.run(f"cd /opt/alpha-results\n{copying}")
    started = re.findall(r"alpha-results-[a-z]+(?:\.timer)?", waiting)
    for name in started:
        unit = name if name.endswith(".timer") else f"{name}.service"
        assert (tmp_path / "etc/systemd/system" / unit).exists()
    with ExitStack() as stack:
        stack.enter_context(machine.unit("alpha-results-pipeline"))
        stack.enter_context(machine.unit("alpha-results-serve", ALPHA_RESULTS_PORT=str(machine.api)))
        ready = machine.run(waiting.replace("\ncurl", "\ncurl --retry-all-errors"))
        assert '"status"' in ready
        machine.run(f"cd /opt/alpha-results\n{tls}")
        stack.enter_context(nginx(machine))
        # The service is ready with the first of the three alphas.
        metrics = "curl -s http://127.0.0.1:9108/metrics"
        eventually(lambda: "catalogue_alphas 3.0" in machine.run(metrics), "the three simulated alphas")
        answer = machine.run(
            f"cd /opt/alpha-results\n{key}{LINK}".replace("curl -s", "curl -s --retry 60 --retry-all-errors")
        )
        assert '"alpha_id":"sim_lowvol"' in answer
        log = (tmp_path / "var/log/nginx/alpha-results.log").read_text()
        assert '"GET /files/sim_lowvol/' in log
        assert "signature" not in log
        settings, _, _ = key.partition("\n")
        listing = "runuser -u alpha-results -- .venv/bin/python -m serve keys list --json"
        script = f"cd /opt/alpha-results\n{settings}\n{listing}"
        eventually(
            lambda: re.search(r'"calls_this_month": [1-9]', machine.run(script)),
            "the call in the list of keys",
        )
