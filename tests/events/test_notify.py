"""`notify`: delivery of events after kills and outages, and their signatures."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pipeline.events import delivery
from pipeline.group import cli
from pipeline.snapshot_builder import build_seal
from tests.support.history import ALPHA, History
from tests.support.ports import free_port
from tests.support.seals import make_seal
from tests.support.small_disk import small_disk

NOT_HTTP = -1
"""Status of an answer that is not HTTP."""


@dataclass
class Receiver:
    """A receiver that records requests; `answers` are its next statuses, then 204. A 302 leads to a page that answers 200."""

    url: str = ""
    got: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.got]

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    result = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = result.answers.pop(0) if result.answers else 204
            if status == NOT_HTTP:
                self.wfile.write(b"no answer of HTTP\r\n\r\n")
                return
            if status < 300:
                result.got.append(({name.lower(): text for name, text in self.headers.items()}, body))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{result.url}/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            result.followed.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        result.url = f"http://127.0.0.1:{server.server_port}/hook"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield result
        server.shutdown()


Notify = Callable[..., Result]


@pytest.fixture
def notify(tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch) -> Notify:
    monkeypatch.setattr(delivery, "_PAUSE", 0.0)

    def run(*flags: str, root: Path = history.root) -> Result:
        arguments = ["notify", "--datasets", str(root), "--state", str(tmp_path / "state.sqlite3"), *flags]
        return CliRunner().invoke(cli, arguments)

    return run


def test_events_start_with_the_first_run_and_follow_the_root(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    assert notify("--webhook", receiver.url).exit_code == 0
    assert receiver.got == []
    assert history.run("withdraw", ALPHA, "--reason", "wrong prices").exit_code == 0
    sent = notify("--webhook", receiver.url)
    assert sent.exit_code == 0
    assert sent.output.startswith("1 event sent, ")
    (event,) = receiver.bodies
    assert event["type"] == "alpha_results.alpha.withdrawn"
    assert event["subject"] == ALPHA
    assert event["source"] == str(history.root)
    assert event["data"]["snapshot"] is None
    assert event["data"]["previous_snapshot"] == history.snapshots[-1]
    assert notify("--webhook", receiver.url).exit_code == 0
    assert len(receiver.got) == 1


def test_recorded_events_are_sent_oldest_first(notify: Notify, receiver: Receiver, history: History) -> None:
    result = notify("--webhook", receiver.url, "--from-start", "--json")
    assert json.loads(result.output) == {"sent": len(receiver.got), "remembered": len(receiver.got)}
    times = [event["time"] for event in receiver.bodies]
    assert times == sorted(times)
    assert [event["data"]["snapshot"] for event in receiver.bodies] == list(history.snapshots)
    assert {headers["content-type"] for headers, _ in receiver.got} == {"application/cloudevents+json"}


def test_a_refused_seal_is_an_event_with_its_rules(
    notify: Notify, receiver: Receiver, history: History, tmp_path: Path
) -> None:
    assert notify("--webhook", receiver.url).exit_code == 0
    seal = make_seal(tmp_path / "seals", alpha_id="Test_broken", weeks=14)
    manifest = json.loads((seal / "seal.json").read_text())
    manifest["equity_basis"] = -1.0
    (seal / "seal.json").write_text(json.dumps(manifest))
    assert history.run("build", "--from", str(tmp_path / "seals")).exit_code == 1
    assert notify("--webhook", receiver.url, "--lineage", receiver.url).exit_code == 0
    event, run = receiver.bodies
    assert event["type"] == "alpha_results.alpha.refused"
    assert event["data"]["violations"][0]["rule"]
    assert run["eventType"] == "FAIL"
    assert run["outputs"] == []
    (seen,) = run["inputs"]
    assert {x["success"] for x in seen["inputFacets"]["dataQualityAssertions"]["assertions"]} == {False}


def test_a_publication_event_has_completeness_and_rule_outcomes(
    notify: Notify, receiver: Receiver, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_RESULTS_LINEAGE_TOKEN", "secret-token")
    assert notify("--lineage", receiver.url, "--from-start").exit_code == 0
    last = receiver.bodies[-1]
    assert last["eventType"] == "COMPLETE"
    assert last["outputs"][0]["name"] == ALPHA
    assert last["outputs"][0]["facets"]["version"]["datasetVersion"] == history.snapshots[-1]
    assertions = last["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {"assertion": "portfolio.identity", "success": True} in assertions
    assert {headers["authorization"] for headers, _ in receiver.got} == {"Bearer secret-token"}


def test_a_build_that_was_replaced_before_the_run_is_sent_with_its_seal(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    assert notify("--lineage", receiver.url, "--from-start").exit_code == 0
    runs = receiver.bodies
    served = [run["outputs"][0]["facets"]["version"]["datasetVersion"] for run in runs]
    assert served == list(history.snapshots)
    seals = [hashlib.sha256((seal / "seal.json").read_bytes()).hexdigest() for seal in history.seals]
    assert [run["inputs"][0]["name"] for run in runs] == seals
    receiver.got.clear()
    other = ("--state", f"{history.root}.webhook")
    assert notify("--webhook", receiver.url, *other, "--from-start").exit_code == 0
    assert [event["data"]["seal_digest"] for event in receiver.bodies] == seals


def test_decisions_of_operators_are_no_runs_of_the_build_job(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    assert notify("--lineage", receiver.url).exit_code == 0
    for command in ("rollback", "withdraw", "restore"):
        assert history.run(command, ALPHA).exit_code == 0
    assert notify("--lineage", receiver.url).exit_code == 0
    assert receiver.got == []
    other = ("--state", f"{history.root}.webhook")
    assert notify("--webhook", receiver.url, *other, "--from-start").exit_code == 0
    kinds = [event["type"].rpartition(".")[2] for event in receiver.bodies]
    assert kinds[len(history.snapshots) :] == ["rolled_back", "withdrawn", "published"]
    receiver.got.clear()
    assert history.run("build", str(history.seals[-1]), "--force").exit_code == 0
    assert notify("--lineage", receiver.url).exit_code == 0
    (run,) = receiver.bodies
    assert run["outputs"][0]["facets"]["version"]["datasetVersion"] == history.snapshots[-1]


def test_an_events_signature_can_be_verified(
    notify: Notify, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_RESULTS_WEBHOOK_SECRET", "shared")
    flags = ("--webhook", receiver.url, "--from-start")
    assert notify(*flags).exit_code == 0
    for headers, body in receiver.got:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.digest(b"shared", signed, hashlib.sha256)).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"


def test_an_unavailable_receiver_gets_all_events_later(notify: Notify, receiver: Receiver) -> None:
    receiver.answers = [503, 204, 503, 503, 503, 503]
    failed = notify("--webhook", receiver.url, "--from-start")
    assert failed.exit_code == 6
    assert "127.0.0.1 answered 503" in failed.output
    assert receiver.url not in failed.output
    assert len(receiver.got) == 1
    assert notify("--webhook", receiver.url).exit_code == 0
    everything = receiver.ids
    assert len(everything) == len(set(everything)) > 2


def test_a_receiver_that_cannot_be_reached_is_named_with_the_reason(notify: Notify) -> None:
    failed = notify("--webhook", f"http://127.0.0.1:{free_port()}/secret", "--from-start")
    assert (failed.exit_code, "secret" in failed.output) == (6, False)
    assert "127.0.0.1 did not answer (" in failed.output
    assert "Connection refused); event" in failed.output


def test_a_permanent_refusal_is_not_retried_in_the_same_run(notify: Notify, receiver: Receiver) -> None:
    receiver.answers = [400] * 9
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 6
    assert len(receiver.answers) == 8


def test_a_redirect_is_not_followed_and_delivers_nothing(
    notify: Notify, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_RESULTS_LINEAGE_TOKEN", "secret-token")
    for option in ("--webhook", "--lineage"):
        receiver.answers = [302]
        redirected = notify(option, receiver.url, "--from-start")
        assert redirected.exit_code == 6
        assert "127.0.0.1 answered 302" in redirected.output
        assert not receiver.followed
        assert not receiver.got
    assert notify("--webhook", receiver.url).exit_code == 0
    assert receiver.got, "the next run sends the events"


def test_an_answer_that_is_not_http_is_retried(notify: Notify, receiver: Receiver) -> None:
    receiver.answers = [NOT_HTTP]
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 0
    assert len(receiver.ids) == len(set(receiver.ids)) > 2


def test_gc_does_not_make_events_of_what_was_sent(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    """gc removes the earlier snapshots from a pointer, after which its last change no longer names what it replaced."""
    assert history.run("rollback", ALPHA).exit_code == 0
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 0
    assert receiver.bodies[-1]["type"] == "alpha_results.alpha.rolled_back"
    receiver.got.clear()
    assert history.run("gc", "--keep", "1", "--grace", "0s").exit_code == 0
    assert history.there() == {history.snapshots[1]}
    assert notify("--webhook", receiver.url).exit_code == 0
    assert receiver.got == []


def test_an_alpha_with_a_damaged_pointer_is_named_and_its_events_are_not_repeated(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    pointer = history.root / "catalog" / f"{ALPHA}.json"
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 0
    receiver.got.clear()
    intact = pointer.read_bytes()
    pointer.write_text("{")
    result = notify("--webhook", receiver.url)
    assert (result.exit_code, receiver.got) == (4, [])
    assert result.stderr.startswith(f"error: catalog/{ALPHA}.json is not a pointer")
    pointer.write_bytes(intact)
    assert notify("--webhook", receiver.url).exit_code == 0
    assert receiver.got == []


def test_all_events_of_an_alpha_follow_when_its_pointer_was_damaged_at_the_first_run(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    pointer = history.root / "catalog" / f"{ALPHA}.json"
    build_seal(str(make_seal(history.root.parent / "other", alpha_id="Test_other", weeks=14)), history.root)
    intact = pointer.read_bytes()
    pointer.write_text("{")
    first = notify("--webhook", receiver.url)
    assert (first.exit_code, receiver.got) == (4, [])
    assert f"the events of {ALPHA} wait until its pointer is repaired" in first.stderr
    assert history.run("withdraw", "Test_other").exit_code == 0
    assert notify("--webhook", receiver.url).exit_code == 4
    pointer.write_bytes(intact)
    assert history.run("withdraw", ALPHA).exit_code == 0
    assert [notify("--webhook", receiver.url).exit_code for _ in range(2)] == [0, 0]
    sent = [(event["subject"], event["type"].rpartition(".")[2]) for event in receiver.bodies]
    assert (sent[0], sent[-1]) == (("Test_other", "withdrawn"), (ALPHA, "withdrawn"))
    assert {alpha for alpha, _ in sent[1:]} == {ALPHA}
    assert len(sent) == 2 + len(history.snapshots)


def test_events_of_one_second_are_sent_in_their_order(
    notify: Notify, receiver: Receiver, history: History
) -> None:
    """A refusal is dated to the second, a publication to the microsecond."""
    second = f"{history.pointer.published_at[:19]}Z"
    refusal = {"alpha_id": "Test_refused", "refused_at": second, "violations": []}
    stored = {"seal": "s", "searched": "seals", "rules": "r", "files": None, **refusal}
    (history.root / "refused").mkdir()
    (history.root / "refused" / f"{'0' * 64}.json").write_text(json.dumps(stored))
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 0
    times = [event["time"] for event in receiver.bodies]
    assert second in times
    assert times == sorted(times, key=datetime.fromisoformat)


def test_after_a_kill_no_event_is_lost_and_none_sent_more_than_twice(
    notify: Notify, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills before each event is sent, and between sending and recording it."""
    assert notify("--webhook", receiver.url, "--from-start").exit_code == 0
    expected = receiver.ids
    real = delivery.send
    for place in range(2 * len(expected)):
        (tmp_path / "state.sqlite3").unlink()
        receiver.got.clear()
        calls = 0

        def killed(*arguments: Any, place: int = place, **named: Any) -> None:
            nonlocal calls
            number, calls = calls, calls + 1
            if number == place // 2 and place % 2:
                real(*arguments, **named)
            if number == place // 2:
                raise SystemExit(137)
            real(*arguments, **named)

        monkeypatch.setattr(delivery, "send", killed)
        assert notify("--webhook", receiver.url, "--from-start").exit_code == 137
        monkeypatch.setattr(delivery, "send", real)
        assert notify("--webhook", receiver.url).exit_code == 0
        assert sorted(set(receiver.ids)) == sorted(expected)
        assert len(receiver.ids) == len(expected) + place % 2


def test_no_event_is_sent_whose_delivery_cannot_be_recorded(
    receiver: Receiver, history: History, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        place = ["--datasets", str(history.root), "--state", str(disk.folder / "state.sqlite3")]

        def notify_again() -> Result:
            return CliRunner().invoke(cli, ["notify", *place, "--webhook", receiver.url])

        assert notify_again().exit_code == 0
        assert history.run("withdraw", ALPHA).exit_code == 0
        with disk.full():
            result = notify_again()
        assert (result.exit_code, receiver.got) == (5, [])
        assert result.output.startswith("error: --state: ")
        assert notify_again().exit_code == 0
        assert len(receiver.got) == 1


@pytest.mark.parametrize("token", ["secret-token\n", "secret token", "secret-\u20ac"])
def test_a_token_that_no_header_can_hold_is_refused_without_showing_it(
    notify: Notify, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("ALPHA_RESULTS_LINEAGE_TOKEN", token)
    result = notify("--lineage", receiver.url, "--from-start")
    assert (result.exit_code, receiver.got) == (2, [])
    assert "ALPHA_RESULTS_LINEAGE_TOKEN: a token has visible ASCII characters only" in result.output
    assert "secret" not in result.output


def test_a_state_that_cannot_be_opened_or_read_is_named(
    notify: Notify, receiver: Receiver, tmp_path: Path
) -> None:
    missing = tmp_path / "none" / "state.sqlite3"
    result = notify("--webhook", receiver.url, "--state", str(missing))
    assert result.exit_code == 2
    assert f"--state: {missing} cannot be opened" in result.output
    assert "create its folder" in result.output
    unwritable = Path("/proc/state.sqlite3")
    result = notify("--webhook", receiver.url, "--state", str(unwritable))
    assert result.exit_code == 5, "a folder in which no file can be created"
    assert f"--state: {unwritable} cannot be written" in result.output
    state = tmp_path / "state.sqlite3"
    assert notify("--webhook", receiver.url).exit_code == 0
    content = state.read_bytes()
    state.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))  # the table after the first page
    result = notify("--webhook", receiver.url, "--from-start")
    assert (result.exit_code, receiver.got) == (2, [])
    assert f"--state: {state} cannot be used" in result.output


def test_a_database_of_another_program_is_refused_and_left_as_it_is(
    notify: Notify, receiver: Receiver, tmp_path: Path
) -> None:
    state = tmp_path / "state.sqlite3"
    with contextlib.closing(sqlite3.connect(state)) as other:
        other.executescript("CREATE TABLE calls (key_id TEXT); PRAGMA user_version = 3")
    before = state.read_bytes()
    result = notify("--webhook", receiver.url, "--from-start")
    assert (result.exit_code, receiver.got) == (2, [])
    assert f"--state: {state} cannot be used (it holds tables of another program)" in result.output
    assert state.read_bytes() == before


def test_invalid_options_are_named(notify: Notify, receiver: Receiver, tmp_path: Path) -> None:
    assert notify().exit_code == 2
    urls = ("ftp://host", "http://host:port", "http://host:99999", "http://[::1", "http://host/ ")
    for address in (*urls, f"http://user:{'password'}@host", "http://hooks..example.org"):
        wrong = notify("--webhook", f"{address}/secret-path")
        assert wrong.exit_code == 2, address
        assert "--webhook" in wrong.output
        assert "secret-path" not in wrong.output
    (tmp_path / "state.sqlite3").write_text("not a database, and longer than a header of one " * 9)
    broken = notify("--webhook", receiver.url)
    assert broken.exit_code == 2
    assert "--state" in broken.output
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    assert notify("--webhook", receiver.url, root=tmp_path / "none").exit_code == 2
