"""However its bytes arrive, a request has one answer, with the fast path and without: split anywhere, mixed, cut off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from serve.app import create
from serve.auth.settings import AccessSettings
from serve.settings import Settings
from tests.support import published
from tests.support.application import started
from tests.support.client import ApiClient
from tests.support.raw_http import head
from tests.wire.in_memory import Way
from tests.wire.test_both_ways import CASES

SHORT = [name for name, case in CASES.items() if len(case.sent) < 400]
OPEN = [name for name, case in CASES.items() if case.open]
SCORES = f"/v1/alphas/{published.ALPHA}/scores"
RATE = "per_second=10000000,per_minute=100000000,per_day=1000000000,monthly=1000000000"
LIMITS: dict[str, Any] = {
    "max_target_bytes": 2000,
    "max_head_bytes": 6000,
    "max_header_line_bytes": 3000,
    "max_headers": 20,
    "max_body_bytes": 1000,
}


@dataclass
class Pair:
    """The application with the fast path and without it, each on an event loop of its own."""

    ways: list[tuple[ApiClient, Way]]

    def run(self, scenario: Any, *arguments: Any) -> list[Any]:
        """Run a scenario over each way, and return what they came to; nothing may fail unseen."""
        return [client.wait(_watched(scenario, way, arguments)) for client, way in self.ways]


async def _watched(scenario: Any, way: Way, arguments: tuple[Any, ...]) -> Any:
    failed: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    found = await scenario(way, *arguments)
    await way.idle()
    assert failed == []
    return found


@pytest.fixture(scope="module")
def pair(here: Path) -> Iterator[Pair]:
    """Return both ways over one root, with short bounds."""
    with ExitStack() as stack:
        ways: list[tuple[ApiClient, Way]] = []
        for fast in ("on", "off"):
            counts = here.parent / f"split-{fast}.limits"
            access = AccessSettings.from_environment({"ALPHA_RESULTS_LIMITS_STATE": str(counts)}, str(here))
            settings = Settings(
                datasets=str(here),
                threads=2,
                refresh_seconds=60.0,
                fast_path=fast,
                log_level="error",
                **LIMITS,
            )
            app = create(settings, access)
            client = stack.enter_context(started(app, access))
            token = ways[0][1].token if ways else client.key(rate=RATE)
            ways.append((client, Way(app, token)))
        yield Pair(ways)


async def whole(way: Way, name: str) -> list[bytes]:
    """Send a case at once."""
    peer = way.connect()
    peer.protocol.data_received(way.bytes_of(CASES[name].sent))  # type: ignore[union-attr]
    found = [answer.compared for answer in await way.answers(peer, len(CASES[name].answers))]
    await way.leave(peer)
    return found


@pytest.mark.parametrize("name", SHORT)
def test_a_request_split_at_any_byte_is_answered_like_a_whole_one(pair: Pair, name: str) -> None:
    case = CASES[name]

    async def scenario(way: Way) -> list[bytes]:
        expected, sent = await whole(way, name), way.bytes_of(case.sent)
        assert len(expected) == len(case.answers)
        for at in range(1, len(sent)):
            peer = way.connect()
            protocol = peer.protocol
            assert protocol is not None
            protocol.data_received(sent[:at])
            if at % 2:
                await asyncio.sleep(0)  # an answer may have begun, or even be there
            if not peer.ended:
                protocol.data_received(sent[at:])
            found = await way.answers(peer, len(case.answers))
            assert [answer.compared for answer in found] == expected, at
            if not case.open:
                await way.ended(peer)
            await way.leave(peer)
        return expected

    fast, plain = pair.run(scenario)
    assert fast == plain


@pytest.mark.parametrize("seed", range(12))
def test_requests_of_every_kind_sent_together_are_each_answered_like_one_sent_alone(
    pair: Pair, seed: int
) -> None:
    draw = random.Random(seed)
    names = draw.sample(OPEN, 12)
    last = draw.choice([name for name in CASES if not CASES[name].open])
    pieces = [draw.choice([1, 2, 7, 60, 300, 4000]) for _ in range(400)]

    async def scenario(way: Way) -> list[bytes]:
        expected = [answer for name in (*names, last) for answer in await whole(way, name)]
        sent = way.bytes_of(b"".join(CASES[name].sent for name in (*names, last)))
        peer = way.connect()
        at = 0
        for size in (*pieces, len(sent)):
            if at < len(sent) and not peer.ended:
                peer.protocol.data_received(sent[at : at + size])  # type: ignore[union-attr]
                at += size
            if size < 7:
                await asyncio.sleep(0)
        found = [answer.compared for answer in await way.answers(peer, len(expected))]
        await way.ended(peer)
        assert found == expected
        await way.leave(peer)
        return found

    fast, plain = pair.run(scenario)
    assert fast == plain


TWO = head(SCORES) + head("/v1/%68ealth", "Content-Length: 3") + b"abc" + head("/v1/none")


def test_a_caller_may_leave_after_any_byte_and_nothing_is_left_of_it(pair: Pair) -> None:
    async def scenario(way: Way) -> None:
        sent = way.bytes_of(TWO)
        for at in range(len(sent) + 1):
            for why in (None, ConnectionResetError("reset by peer")):
                peer = way.connect()
                peer.protocol.data_received(sent[:at])  # type: ignore[union-attr]
                if at % 2:
                    await asyncio.sleep(0)
                await way.leave(peer, why)
        await way.idle()
        assert len(way.app.connections) == 0
        assert way.counts.connections == set()

    pair.run(scenario)


def test_a_caller_who_stops_sending_after_any_byte_is_answered_what_was_whole(pair: Pair) -> None:
    async def scenario(way: Way) -> list[list[bytes]]:
        sent, seen = way.bytes_of(TWO), []
        ends = [sent.find(b"\r\n\r\n") + 4]
        ends.append(sent.find(b"\r\n\r\n", ends[0]) + 4)
        ends.append(len(sent))
        for at in range(len(sent) + 1):
            peer = way.connect()
            protocol = peer.protocol
            assert protocol is not None
            protocol.data_received(sent[:at])
            if not protocol.eof_received():
                peer.close()
            expected = sum(at >= end for end in ends)
            found = await way.answers(peer, expected)
            deadline = asyncio.get_running_loop().time() + 30
            await way.idle()
            for _ in range(3):
                await asyncio.sleep(0)
            while not peer.ended:
                protocol.look(
                    asyncio.get_running_loop().time() + 11
                )  # a body that will never come is not waited for
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0)
            found = await way.answers(peer, expected)
            assert [answer.status for answer in found] == [200, 200, 404][:expected], at
            seen.append([answer.compared for answer in found])
            await way.leave(peer)
        return seen

    fast, plain = pair.run(scenario)
    assert fast == plain


def test_a_caller_who_reads_nothing_has_few_answers_made_and_all_of_them_later(pair: Pair) -> None:
    many = 100

    async def scenario(way: Way) -> None:
        peer = way.connect(reads=False)
        protocol = peer.protocol
        assert protocol is not None
        one = way.bytes_of(head(SCORES))
        protocol.data_received(one * many)
        size = len(parse_first(await way.answers(peer, 1)))
        for _ in range(200):
            await asyncio.sleep(0.001)
        assert 65_536 < peer.unread <= 65_536 + 2 * size, "no answer is begun while others lie unread"
        assert peer.paused, "nor is anything more read"
        peer.read_everything()
        found = await way.answers(peer, many)
        assert [answer.status for answer in found] == [200] * many
        await way.leave(peer)

    pair.run(scenario)


def parse_first(answers: list[Any]) -> bytes:
    found: bytes = answers[0].raw
    return found
