"""Signals end a batch at any point."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from pipeline.batch.cancellation import Cancellation, stoppable
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
