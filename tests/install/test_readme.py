"""The README's examples run as printed beside a running demo, in a folder that is not the checkout."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text("utf-8")
OF_THE_CLIENT = (REPOSITORY / "clients" / "python" / "README.md").read_text("utf-8")
OF_TABLES = (REPOSITORY / "docs" / "whole-tables.md").read_text("utf-8")
OF_THE_FILES = (REPOSITORY / "docs" / "reading-the-files.md").read_text("utf-8")
LINE = re.compile(r"^\. (\S+/env)$", re.MULTILINE)
STARTS_WITHIN = 240.0
"""Seconds for the demo to simulate, build and serve; it takes ten on an idle machine."""


def blocks(language: str, heading: str = "", text: str = README) -> list[str]:
    """Return the code of a language below a heading."""
    text = text[text.index(heading) :]
    level = heading.partition(" ")[0]
    if level:
        text = re.split(
            rf"^#{{1,{len(level)}}} ", text.removeprefix(heading), maxsplit=1, flags=re.MULTILINE
        )[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def readme_environment(elsewhere: Path) -> Iterator[dict[str, str]]:
    """Run the demo from another folder and return the environment of a shell that was given its line."""
    log = elsewhere / "demo.log"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")}
    with log.open("w") as output:
        demo = subprocess.Popen(
            [sys.executable, "-m", "serve", "demo", "--port", str(free_port())],
            cwd=elsewhere, env=clean, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            end = time.monotonic() + STARTS_WITHIN
            while not (line := LINE.search(log.read_text())):
                assert demo.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.2)
            shown = shell(f"{line[0]} && env -0", elsewhere, clean)
            yield dict(entry.split("=", 1) for entry in shown.split("\0") if entry)
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(60)


def shell(script: str, folder: Path, environment: dict[str, str]) -> str:
    """Run lines in a shell whose `python` is that of the suite."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=folder, env={**environment, "PATH": path},
        capture_output=True, text=True, check=False, timeout=STARTS_WITHIN,
    )  # fmt: skip
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


def test_what_the_readme_prints_is_what_its_calls_answer(
    readme_environment: dict[str, str], elsewhere: Path
) -> None:
    shown = "".join(blocks("console"))
    calls = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", shown, re.MULTILINE)
    assert len(calls) == 3
    for call, printed in calls:
        answer = shell(call, elsewhere, readme_environment)
        json.loads(answer)
        pieces = [re.escape("".join(piece.split())) for piece in printed.split("…")]
        assert re.fullmatch(".*".join(pieces), "".join(answer.split())), (call, answer)


@pytest.mark.parametrize("code", [*blocks("python"), *blocks("python", text=OF_THE_CLIENT)])
def test_the_readmes_python_runs_from_another_folder(
    readme_environment: dict[str, str], elsewhere: Path, code: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=elsewhere,
        env=readme_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_ones_own_runs_are_published_and_served_as_the_readme_says(
    readme_environment: dict[str, str], elsewhere: Path
) -> None:
    (lines,) = blocks("sh", "### Your own runs")
    preparing, _, serving = lines.partition("python -m serve run")
    issued = shell(preparing, elsewhere, readme_environment)
    token = re.search(r"\S+_live_[0-9a-z]{16}\.\S{43}", issued)
    assert token, issued
    port = free_port()
    arguments = re.sub(r"--port \d+", f"--port {port}", serving).split()
    server = subprocess.Popen(
        [sys.executable, "-m", "serve", "run", *arguments], cwd=elsewhere, env=readme_environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + STARTS_WITHIN
        while True:
            assert server.poll() is None
            assert time.monotonic() < end
            try:
                health = httpx.get(f"http://127.0.0.1:{port}/v1/health")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        assert health.json()["status"] == "ok"
    finally:
        server.terminate()
        server.wait(60)


@pytest.mark.parametrize("names", [["sim_lowvol"], ["sim_lowvol", "Test_sim_momentum"]])
def test_relative_seals_are_built_from_any_folder(
    readme_environment: dict[str, str], elsewhere: Path, names: list[str]
) -> None:
    relative = " ".join(
        os.path.relpath(Path(readme_environment["SEALS"]) / name, elsewhere) for name in names
    )
    shell(f"python -m pipeline build {relative} --datasets beside", elsewhere, readme_environment)
    assert (elsewhere / "beside").is_dir()


def test_what_is_written_on_reading_the_files_runs_as_printed(
    readme_environment: dict[str, str], elsewhere: Path
) -> None:
    parts = re.findall(r"^```(python|sh)\n(.*?)^```$", OF_THE_FILES, re.MULTILINE | re.DOTALL)
    assert len(parts) >= 6
    for language, code in parts:
        script = code if language == "sh" else f"python -W error - <<'END'\n{code}END\n"
        shell(script, elsewhere, readme_environment)


LINES = re.compile(r"^```(python|sh|python duckdb)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script_of(parts: list[tuple[str, str]], python: str = "python") -> str:
    """Return one script, so that later parts see the variables of those before them."""
    return "".join(
        code if language == "sh" else f"{python} -W error - <<'END'\n{code}END\n" for language, code in parts
    )


def test_what_is_written_on_whole_tables_runs_as_printed(
    readme_environment: dict[str, str], elsewhere: Path
) -> None:
    parts = [x for x in LINES.findall(OF_TABLES) if x[0] != "python duckdb"]
    assert [language for language, _ in parts] == ["sh", "python", "python", "python", "sh"]
    shown = shell(script_of(parts), elsewhere, readme_environment)
    digest = re.search(r"([0-9a-f]{64})  positions.parquet\n$", shown)
    assert digest
    assert digest[1] in shown[: digest.start()], "the list of tables names the digest of what was fetched"


def test_duckdb_with_httpfs_reads_a_link_as_printed(
    readme_environment: dict[str, str], elsewhere: Path, tmp_path: Path
) -> None:
    """With the release of DuckDB that PyPI has the extension for: DuckDB's own host is not asked."""
    python = tmp_path / "environment" / "bin" / "python"
    install = re.search(r"`pip install (.*?)`", OF_TABLES)
    add = re.search(r"`python (-c '.*')`", OF_TABLES)
    assert install
    assert add
    home = {**readme_environment, "HOME": str(tmp_path)}
    cache = subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    shell(f"uv venv --quiet --python {sys.executable} {python.parents[1]}", elsewhere, home)
    shell(f"UV_CACHE_DIR='{cache}' uv pip install --quiet --python {python} {install[1]}", elsewhere, home)
    parts = LINES.findall(OF_TABLES)
    duck = [x for x in parts if x[0] == "python duckdb"]
    shown = shell(
        f"{python} {add[1]}\n" + script_of(parts[:1]) + script_of(duck, str(python)), elsewhere, home
    )
    assert "SIM001" in shown
