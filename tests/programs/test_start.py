"""Checks before the port opens, and shutdown without output other than log lines."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from schemas.exit_codes import ExitCode
from serve.http.request import Receive, Scope, Send
from serve.server import Shutdown, bind, serve_alone
from tests.support import plain_http
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY, WITHOUT_RIGHTS, children, command, environment, workers
from tests.support.redis import RedisServer
from tests.support.small_disk import small_disk
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "published" / "catalog").mkdir(parents=True)
    return tmp_path / "published"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_busy_port_is_one_line_and_exit_code_2(root: Path, workers: str, redis_server: RedisServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        words = ("run", "--datasets", str(root), "--port", port, "--workers", workers)
        done = command(*words, ALPHA_RESULTS_REDIS=redis_server.url)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: --host 127.0.0.1 --port {port}: another process listens there")


def test_settings_of_the_environment_are_named_by_their_variables(root: Path) -> None:
    absent = command("run", ALPHA_RESULTS_DATASETS=str(root / "absent"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        busy = command("run", ALPHA_RESULTS_DATASETS=str(root), ALPHA_RESULTS_PORT=port)
        given = {"ALPHA_RESULTS_DATASETS": str(root), "ALPHA_RESULTS_METRICS_PORT": port}
        metrics = command("run", "--port", "0", **given)
    for done, named in (
        (absent, f"--datasets or ALPHA_RESULTS_DATASETS: there is no folder '{root}/absent'"),
        (busy, "another process listens there: end it, or give another --port or ALPHA_RESULTS_PORT"),
        (metrics, "--metrics-port or ALPHA_RESULTS_METRICS_PORT: nothing can listen on"),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert named in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_setting_that_only_the_application_can_refuse_is_named_and_exit_code_2(
    root: Path, workers: str, redis_server: RedisServer
) -> None:
    words = ("run", "--datasets", str(root), "--port", "0", "--workers", workers)
    done = command(*words, "--public-url", "alphas.example.org", ALPHA_RESULTS_REDIS=redis_server.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ALPHA_RESULTS_PUBLIC_URL is 'alphas.example.org': write https://host" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["published", "published/catalog", ""])
def test_a_root_that_may_not_be_read_is_one_line_and_exit_code_5(root: Path, closed: str) -> None:
    (root.parent / closed).chmod(0)
    done = command("run", "--datasets", str(root), "--port", "0", begin=WITHOUT_RIGHTS)
    (root.parent / closed).chmod(0o755)
    assert (done.returncode, done.stdout) == (5, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {root}")
    assert line.endswith("cannot be read: this user may not read it; permit it, then try again")


@pytest.mark.parametrize("verb", ["list", "issue"])
def test_a_store_of_keys_that_may_not_be_read_is_one_line_and_exit_code_5(tmp_path: Path, verb: str) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0)
    words = {"list": (), "issue": ("--account", "a@b.co", "--name", "x", "--alphas", "all", "--runs", "all")}
    store = ("--access", str(folder / "keys.sqlite3"))
    done = command("keys", verb, *words[verb], *store, begin=WITHOUT_RIGHTS)
    folder.chmod(0o755)
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {folder}/keys.sqlite3 cannot be read: this user may not read it")


def test_a_folder_in_place_of_the_store_of_keys_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = command("keys", "list", "--access", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"error: the access store {tmp_path} is a folder; name a file in it with --access\n"


def test_a_profile_in_a_closed_folder_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0)
    issue = ("keys", "issue", "--account", "a@example.org", "--name", "x", "--access", str(tmp_path / "keys"))
    profile = ("--profile", str(folder / "x.share"), "--url", "https://alphas.example.org")
    done = command(*issue, *profile, begin=WITHOUT_RIGHTS)
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: --profile: {folder}/x.share cannot be written: Permission denied")
    assert line.endswith("No key was issued")


@pytest.mark.parametrize("words", [("keys", "list"), ("accounts", "create", "--email", "a@example.org")])
def test_a_store_of_keys_below_a_file_is_one_line_and_exit_code_2(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = command(*words, "--access", str(tmp_path / "file" / "keys.sqlite3"))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert f"{tmp_path}/file/keys.sqlite3" in line


@pytest.mark.parametrize("words", [("accounts", "create", "--email", "a@example.org"), ("keys", "list")])
def test_no_store_of_keys_is_made_beside_a_root_that_does_not_exist(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    missing = tmp_path / "misspelt"
    done = command(*words, "--datasets", str(missing))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: --datasets or ALPHA_RESULTS_DATASETS: there is no folder '{missing}'")
    assert line.endswith("correct it, or name their store with --access")
    assert not list(tmp_path.iterdir())


def test_a_demo_on_a_read_only_disk_is_one_line_and_exit_code_5(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.read_only():
        done = command("demo", "--root", str(disk.folder / "demo"))
    assert (done.returncode, done.stdout) == (5, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"error: {disk.folder}/demo cannot be written: its file system is mounted read-only"
    )


def test_a_foreign_host_is_one_line_and_exit_code_2(root: Path) -> None:
    done = command("run", "--datasets", str(root), "--host", "203.0.113.1", "--port", str(free_port()))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: --host 203.0.113.1 --port")


def test_a_misspelt_address_is_one_line_and_exit_code_2(root: Path) -> None:
    done = command("run", "--datasets", str(root), "--host", "127.0.0..1")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: --host 127.0.0..1 --port 8000: ")


def test_an_application_that_cannot_start_is_exit_code_7() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "the store is away"})

    sockets = bind("127.0.0.1", 0)
    with pytest.raises(SystemExit) as ended:
        serve_alone(failing, {"lifespan": "on", "log_config": None}, sockets, Shutdown(0.0, lambda: None))
    assert ended.value.code == ExitCode.PROGRAM_FAILED
    for listener in sockets:
        listener.close()


def test_a_free_port_is_taken_and_printed_and_an_empty_root_is_logged(root: Path) -> None:
    log = root.parent / "server.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", "--datasets", str(root), "--port", "0"],
            cwd=REPOSITORY,
            env=environment(),
            stdout=stream,
            stderr=stream,
        )
    try:
        eventually(lambda: '"listening"' in log.read_text())
        (line,) = [json.loads(x) for x in log.read_text().splitlines() if '"listening"' in x]
        (address,) = line["addresses"]
        assert plain_http.get(f"{address}/v1/health", timeout=PATIENCE).status_code == 200
        (line,) = [json.loads(x) for x in log.read_text().splitlines() if '"no_alphas_published"' in x]
        assert (line["root"], line["level"]) == (str(root), "warning")
    finally:
        process.terminate()
        process.wait()


def test_localhost_is_served_on_every_address_it_has(root: Path) -> None:
    port = free_port()
    server = start(root, port, host="localhost")
    try:
        addresses = {
            result[4][0] for result in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)
        }
        wait_for(server, port)
        for address in addresses:
            shown = f"[{address}]" if ":" in str(address) else address
            assert plain_http.get(f"http://{shown}:{port}/v1/health").status_code == 200
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE)


def start(
    root: Path, port: int, *more: str, host: str = "127.0.0.1", **variables: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "serve", "run", "--datasets", str(root), "--host", host, "--port", str(port), *more],
        cwd=REPOSITORY, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


def wait_for(server: subprocess.Popen[str], port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert server.poll() is None, server.communicate()
        try:
            plain_http.get(f"http://127.0.0.1:{port}/v1/health")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not answer")


@pytest.mark.parametrize("while_loading", [True, False])
def test_ctrl_c_ends_workers_with_log_lines_only(
    root: Path, redis_server: RedisServer, while_loading: bool
) -> None:
    port = free_port()
    server = start(root, port, "--workers", "2", ALPHA_RESULTS_REDIS=redis_server.url)
    if while_loading:
        while len(children(server.pid)) < 3:  # two workers and their resource tracker
            assert server.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)  # in the middle of their imports
    else:
        wait_for(server, port)
    os.killpg(server.pid, signal.SIGINT)  # as a terminal sends it
    out, err = server.communicate(timeout=PATIENCE)
    assert out == ""
    for line in err.splitlines():
        assert json.loads(line)["event"], line
    assert server.returncode == 0


def test_only_their_parent_ends_workers_after_ctrl_c(root: Path, redis_server: RedisServer) -> None:
    server = start(root, free_port(), "--workers", "2", ALPHA_RESULTS_REDIS=redis_server.url)
    assert server.stderr is not None
    started = 0
    while started < 2:
        started += "Application startup complete" in server.stderr.readline()
        assert server.poll() is None
    for worker in workers(server.pid):
        os.kill(worker, signal.SIGINT)  # a worker that ended by it would report leaks of the engine
        (ignored,) = re.findall(r"SigIgn:\s*(\w+)", Path(f"/proc/{worker}/status").read_text())
        assert int(ignored, 16) & 1 << signal.SIGINT - 1
    server.terminate()
    _, err = server.communicate(timeout=PATIENCE)
    assert "worker_ended" not in [json.loads(line)["event"] for line in err.splitlines()]


def test_ctrl_c_while_a_server_loads_prints_no_traceback(root: Path) -> None:
    server = start(root, free_port())
    while "sqlalchemy" not in Path(f"/proc/{server.pid}/maps").read_text():  # one of its slowest imports
        assert server.poll() is None
        time.sleep(0.005)
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=PATIENCE)
    assert server.returncode == ExitCode.INTERRUPTED
    assert out == ""
    assert "Traceback" not in err


def test_workers_end_with_a_parent_that_is_killed_and_free_the_port(
    root: Path, redis_server: RedisServer
) -> None:
    port = free_port()
    server = start(root, port, "--workers", "2", ALPHA_RESULTS_REDIS=redis_server.url)
    wait_for(server, port)
    assert len(workers(server.pid)) == 2
    server.kill()
    _, err = server.communicate(timeout=PATIENCE)  # ends when no process holds its end of the pipe
    assert [json.loads(line)["event"] for line in err.splitlines()].count("parent_ended") == 2
    again = start(root, port)
    wait_for(again, port)
    again.terminate()
    again.communicate(timeout=PATIENCE)
