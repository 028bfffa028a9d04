"""Many callers, callers that do not read, few file descriptors."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support import published
from tests.support.raw_http import Connection, Server, head
from tests.support.server import served
from tests.support.waiting import PATIENCE, eventually

SCORES = f"/v1/alphas/{published.ALPHA}/scores"
HEALTH = "/v1/health"
MANY = 60


def talk_to(base: str, token: str, server_root: Path) -> Server:
    return Server(base, token, server_root.parent / "server.log")


def request_status(wire: Connection, path: str = HEALTH) -> int:
    wire.send(head(path))
    return wire.answer().status


def status_or_zero(wire: Connection, path: str = HEALTH) -> int:
    """Send a request on a connection that may be refused; 0 if closed without an answer."""
    try:
        return request_status(wire, path)
    except (AssertionError, ConnectionResetError, BrokenPipeError):
        return 0


def admits(server: Server) -> bool:
    """Whether a further connection is answered."""
    with server.connect() as late:
        return status_or_zero(late) == 200


def crowd(stack: ExitStack, server: Server, number: int) -> list[Connection]:
    """Open that many connections; the start-up probe may still hold one for a moment."""
    results: list[Connection] = []

    def taken() -> bool:
        with ExitStack() as tried:
            results[:] = [tried.enter_context(server.connect()) for _ in range(number)]
            if [status_or_zero(wire) for wire in results] != [200] * number:
                return False
            stack.push(tried.pop_all())
        return True

    eventually(taken)
    return results


def test_a_caller_that_does_not_read_is_disconnected_and_others_are_answered(
    server_root: Path, token: str
) -> None:
    limits = {"ALPHA_RESULTS_WRITE_TIMEOUT_SECONDS": "0.5"}
    with served(server_root, variables=limits) as (_, base):
        server = talk_to(base, token, server_root)
        with server.connect(buffer=4096) as deaf, server.connect() as other:
            deaf.send(head(SCORES) * MANY)

            def cut() -> bool:
                assert request_status(other) == 200
                try:
                    deaf.send(b"\r\n")
                except (BrokenPipeError, ConnectionResetError):
                    return True
                return False

            eventually(cut)


def test_a_connection_beyond_the_limit_is_closed_and_the_others_keep_working(
    server_root: Path, token: str
) -> None:
    limits = {"ALPHA_RESULTS_MAX_CONNECTIONS": "6"}
    with served(server_root, variables=limits) as (_, base), ExitStack() as stack:
        server = talk_to(base, token, server_root)
        first = crowd(stack, server, 6)
        for _ in range(50):
            with server.connect() as late:
                assert late.is_closed()
        assert [request_status(wire, SCORES) for wire in first] == [200] * 6
        first[0].socket.shutdown(socket.SHUT_RDWR)
        eventually(lambda: admits(server))


@pytest.mark.parametrize(("hops", "admitted"), [("0", False), ("1", True)])
def test_one_address_may_not_use_all_connections_unless_it_is_a_trusted_proxy(
    server_root: Path, token: str, hops: str, admitted: bool
) -> None:
    with (
        served(server_root, "--max-connections-per-address", "3", "--trusted-hops", hops) as (_, base),
        ExitStack() as stack,
    ):
        server = talk_to(base, token, server_root)
        crowd(stack, server, 3)
        assert admits(server) is admitted
        address = urlsplit(base)
        elsewhere = socket.create_connection(
            (address.hostname or "", address.port or 0), PATIENCE, source_address=("127.0.0.2", 0)
        )
        result = Connection(elsewhere, token)
        with closing(elsewhere), result.stream:
            assert request_status(result) == 200


def test_few_file_descriptors_are_shared_between_callers_and_files(server_root: Path, token: str) -> None:
    limits = {"ALPHA_RESULTS_HEAD_TIMEOUT_SECONDS": "2"}
    with served(server_root, descriptors=128, variables=limits) as (_, base), ExitStack() as stack:
        server = talk_to(base, token, server_root)
        assert '"connections_bounded"' in server.log.read_text()
        first = stack.enter_context(server.connect())
        assert request_status(first) == 200
        silent = [stack.enter_context(server.connect()) for _ in range(300)]
        for path in ("trades?book=long_short", "positions?book=long_only", "metrics", "pnl?book=long_only"):
            assert request_status(first, f"/v1/alphas/{published.ALPHA}/{path}") == 200
        for wire in silent:
            assert wire.is_closed()
        eventually(lambda: admits(server))
        assert not [line for line in server.log.read_text().splitlines() if '"status":500' in line]


def test_a_server_out_of_file_descriptors_says_503_and_recovers(server_root: Path, token: str) -> None:
    with served(server_root) as (process, base):
        server = talk_to(base, token, server_root)
        paths = [
            f"/v1/alphas/{published.ALPHA}/{path}"
            for path in ("metrics", "scores", "portfolio", "rebalances")
        ]
        with server.connect() as wire:
            assert request_status(wire, f"{SCORES}?limit=1") == 200  # the first answer loads everything else
            before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
            # Fewer than are open, so that closing one leaves no room for another.
            few = len(list(Path(f"/proc/{process.pid}/fd").iterdir())) // 2
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (few, before[1]))
            try:
                while_short = [request_status(wire, path) for path in paths]
            finally:
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
            assert 503 in while_short
            assert set(while_short) <= {200, 503}
            # An unreachable component is tried again after a moment.
            eventually(lambda: [request_status(wire, path) for path in paths] == [200] * len(paths))
