"""Signals end a batch whatever it is about when they come."""

from __future__ import annotations

import signal
import threading

import pytest

from pipeline.batch.cancellation import Cancellation, stoppable
from tests.support.waiting import PATIENCE, eventually


class NotInTheHandler(threading.Event):
    """An event that the main thread may be about to wait for: it has its lock, so that a handler would wait for ever."""

    def set(self) -> None:
        assert threading.current_thread() is not threading.main_thread(), "this would hang"
        super().set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_heeded_that_comes_just_as_the_batch_begins_to_wait(number: signal.Signals) -> None:
    cancellation = Cancellation()
    cancellation.stopping = NotInTheHandler()
    with stoppable(cancellation):
        signal.raise_signal(number)
        assert cancellation.stopping.wait(PATIENCE)


@pytest.mark.parametrize("signals", [[signal.SIGTERM, signal.SIGTERM], [signal.SIGINT]])
def test_ctrl_c_and_a_second_signal_end_at_once_what_the_main_thread_is_just_about(
    signals: list[signal.Signals],
) -> None:
    ended = threading.Event()
    builds = threading.Lock()
    cancellation = Cancellation()

    def end_immediately() -> None:
        with builds:
            ended.set()

    with stoppable(cancellation), cancellation.ending_with(end_immediately):
        with builds:  # as when a build is just started
            for number in signals:
                assert not ended.is_set()
                signal.raise_signal(number)
                assert cancellation.stopping.wait(PATIENCE)
        eventually(ended.is_set)


def test_afterwards_signals_do_what_they_did_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stoppable(Cancellation()):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
