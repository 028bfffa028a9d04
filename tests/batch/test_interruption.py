"""Signals end a batch at any point."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from pipeline.batch.cancellation import Cancellation, stoppable
from pipeline.batch.discover import Seals
from pipeline.batch.search import Search
from tests.support.pipeline_command import build
from tests.support.waiting import PATIENCE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_interrupts_the_main_threads_wait(number: signal.Signals) -> None:
    cancellation = Cancellation()
    with stoppable(cancellation):
        threading.Timer(0.1, signal.raise_signal, [number]).start()
        begun = time.monotonic()
        cancellation.wait(PATIENCE)
        assert time.monotonic() - begun < PATIENCE
    assert cancellation.stopping


@pytest.mark.parametrize("signals", [[signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]])
def test_ctrl_c_and_a_second_signal_end_running_builds(signals: list[signal.Signals]) -> None:
    cancellation = Cancellation()
    with stoppable(cancellation):
        for number in signals:
            assert not cancellation.aborted
            signal.raise_signal(number)
            assert cancellation.stopping
    assert cancellation.aborted


def test_signal_handlers_are_restored_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stoppable(Cancellation()):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("more", "exit_code"), [((), 130), (("--watch",), 0)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("waiting", [(Seals, "scan"), (Search, "choose")])
def test_a_signal_interrupts_a_search_that_waits_for_a_store(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    waiting: tuple[type, str],
    number: signal.Signals,
    more: tuple[str, ...],
    exit_code: int,
) -> None:
    answered = threading.Event()

    def wait_for_store(*_: object) -> None:
        main = threading.main_thread().ident
        threading.Timer(0.1, signal.pthread_kill, [main, number]).start()
        answered.wait(PATIENCE)
        pytest.fail("the search was not interrupted")

    (tmp_path / "seals").mkdir()
    monkeypatch.setattr(*waiting, wait_for_store)
    result = build(tmp_path / "root", "--from", str(tmp_path / "seals"), "--json", *more)
    assert result.exit_code == exit_code
    assert result.json["summary"]["seals"] == 0
