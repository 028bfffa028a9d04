"""The program as it is started: real processes, real sockets."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from serve.cli.group import serve
from tests.support import plain_http
from tests.support.redis import RedisServer
from tests.support.server import served
from tests.support.waiting import PATIENCE


def test_the_program_serves_and_keeps_secrets_out_of_its_log(server_root: Path, token: str) -> None:
    with served(server_root) as (_, base), plain_http.connect(base_url=base) as client:
        headers = {"authorization": f"Bearer {token}"}
        result = client.get("/v1/alphas/Test_hand/scores?limit=3", headers=headers)
        assert result.status_code == 200, result.text
        assert len(result.json()["data"]) == 3
        assert "server" not in result.headers
        assert client.get(f"/v1/me?key={token}").json()["error"]["code"] == "missing_api_key"
        assert client.get(f"/v1/alphas/{token}/scores", headers=headers).status_code == 403
        # Without trusted proxies no forwarding header is believed: the address is the connection's.
        spoofed = client.get("/v1/me", headers={**headers, "x-forwarded-for": "203.0.113.9"})
        assert spoofed.json()["data"]["ip"] == "127.0.0.1"
        options = client.options("/v1/me")
        assert (options.status_code, options.json()["error"]["code"]) == (404, "method_not_allowed")
        head = client.head("/v1/health")
        assert (head.status_code, head.content) == (404, b"")
        odd = client.get("/v1/alphas/%00%ff/scores", headers={**headers, "x-request-id": "mine"})
        assert (odd.status_code, odd.headers["x-request-id"]) == (403, "mine")
    log = (server_root.parent / "server.log").read_text()
    assert token.split(".")[1] not in log
    lines = [json.loads(line) for line in log.splitlines()]
    requested = [line for line in lines if line["event"] == "request" and line.get("key_id")]
    assert requested[0]["endpoint"] == "signals.scores"
    assert requested[0]["status"] == 200
    assert requested[0]["path"] == "/v1/alphas/Test_hand/scores"


def test_ctrl_c_prints_only_log_lines(server_root: Path) -> None:
    with served(server_root) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    lines = [json.loads(line) for line in (server_root.parent / "server.log").read_text().splitlines()]
    assert lines[-1]["event"].startswith("Finished server process")


def test_requests_in_flight_are_finished_at_shutdown(server_root: Path, token: str) -> None:
    with served(server_root) as (process, base), ThreadPoolExecutor(8) as pool:
        headers = {"authorization": f"Bearer {token}"}

        def send(_: int) -> int | str:
            try:
                return plain_http.get(f"{base}/v1/alphas/Test_hand/scores", headers=headers).status_code
            except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError):
                return "refused"  # the port closed before the server accepted the call

        asking = [pool.submit(send, n) for n in range(40)]
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        results = [future.result() for future in asking]
        assert set(results) <= {200, "refused"}
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
    lines = [json.loads(line) for line in (server_root.parent / "server.log").read_text().splitlines()]
    taken = [line["status"] for line in lines if line.get("endpoint") == "signals.scores"]
    assert taken == [200] * results.count(200), "whatever the server took up reached its caller"


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command that must be refused in this process; return its exit code and message."""
    with pytest.raises(SystemExit) as caught:
        serve([*arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code, capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "ALPHA_RESULTS_DATASETS"),
        (("--datasets", "/no/such/folder"), "/no/such/folder"),
        (("--datasets", "/no/such/folder", "--api-docs", "off"), "there is no folder"),
        (("--datasets", "gs://bucket/root"), "gs:// is not a supported store"),
        (("--datasets", "{root}", "--port", "eighty"), "--port"),
        (("--datasets", "{root}", "--refresh-seconds", "0"), "--refresh-seconds"),
        (("--datasets", "{root}", "--access", "mysql://host/x"), "access"),
        # Workers without a shared limiter cannot count calls together.
        (("--datasets", "{root}", "--workers", "2"), "ALPHA_RESULTS_REDIS"),
    ],
)
def test_invalid_settings_are_one_line_and_exit_code_2(
    server_root: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    for name in [name for name in os.environ if name.startswith("ALPHA_RESULTS_")]:
        monkeypatch.delenv(name)
    code, said = refusal(capsys, "run", *(argument.format(root=server_root) for argument in arguments))
    assert code == 2, said
    assert words in said
    assert len(said.splitlines()) == 1


def test_a_worker_inherits_its_parents_settings(
    server_root: Path, token: str, redis_server: RedisServer
) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with served(server_root, "--workers", "2", variables=variables) as (process, base):
        headers = {"authorization": f"Bearer {token}"}
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: plain_http.get(f"{base}/v1/me", headers=headers), range(24)))
        assert {answer.status_code for answer in answers} == {200}
        used = sorted(answer.json()["data"]["usage"]["day"] for answer in answers)
        assert used == list(range(1, 25))
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"sqlite" not in shown
