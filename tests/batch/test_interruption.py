"""Signals end a batch at any point."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from pipeline.batch.discover import Seals
from pipeline.batch.search import Search
from tests.support.pipeline_command import build
from tests.support.waiting import PATIENCE


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
