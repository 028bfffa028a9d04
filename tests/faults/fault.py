"""Fault injection under load: effects and recovery time."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from tests.support.checked_load import CheckedLoad, LoadCall
from tests.support.deployment import Deployment
from tests.support.waiting import eventually

CALLERS: Final = 6
CALLS: Final = 150
"""Number of calls that must end during a fault before it is removed."""
OK: Final = "200"
AWAY: Final = "503 upstream_unavailable"


class Fault(NamedTuple):
    """A fault and the permitted outcomes of calls during it.

    Attributes
    ----------
    inject
        Takes a component away for the length of a block.
    may
        Kind of call -> permitted outcomes meanwhile; other kinds are answered as before.
    seen
        A kind and an outcome that must occur; otherwise the fault had no effect.
    calls
        Number of calls that must end during the fault: few if each of them waits.
    """

    inject: Callable[[Deployment], AbstractContextManager[object]]
    may: dict[str, set[str]]
    seen: tuple[str, str] | None = None
    calls: int = CALLS


def usual_outcome(kind: str) -> str:
    """Return the outcomes of calls without a fault."""
    return "401 key_revoked" if kind == "revoked" else OK


def inject_under_load(deployment: Deployment, name: str, fault: Fault, calls: Sequence[LoadCall]) -> None:
    """Inject a fault under load; afterwards everything works without a restart."""
    load = CheckedLoad(deployment.base, calls)
    kinds = [call.kind for call in calls]
    with load.running(CALLERS) as tally:
        load.settle(CALLS, lambda kind: {usual_outcome(kind)})
        with contextlib.ExitStack() as stack:
            load.phase = "injecting"
            begun = time.monotonic()
            stack.enter_context(fault.inject(deployment))
            if fault.seen is not None:
                kind, how = fault.seen
                eventually(lambda: tally.count("injecting", how, kind) > 0, f"{kind} answered with {how}")
            noticed = time.monotonic() - begun
            time.sleep(0.5)  # calls sent before the fault end
            load.phase = "fault"
            eventually(lambda: tally.count("fault") >= fault.calls, "calls that end during the fault")
            load.phase = "recovering"
        begun = time.monotonic()
        eventually(lambda: all(tally.count("recovering", usual_outcome(kind), kind) > 0 for kind in kinds))
        recovered = time.monotonic() - begun
        load.settle(CALLS // 2, lambda kind: {usual_outcome(kind)})
    slowest = {kind: round(tally.slowest.get(("fault", kind), 0.0), 2) for kind in kinds}
    reported = f"{name}: noticed {noticed:.2f} s, answered again {recovered:.2f} s, slowest {slowest}"
    sys.stdout.write(f"\n{reported}\n")
    for kind in kinds:
        allowed = fault.may.get(kind, {usual_outcome(kind)})
        if kind == "revoked":
            allowed = allowed | {usual_outcome(kind)}
        assert tally.outcomes("fault", kind) <= allowed, (kind, tally.outcomes("fault", kind))
        for phase in ("injecting", "fault", "recovering"):
            outcomes = tally.outcomes(phase, kind)
            assert "500 internal_error" not in outcomes, (phase, kind)
            assert kind != "revoked" or OK not in outcomes, "nobody is let in who was not"
    assert tally.wrong == []
    assert deployment.process.poll() is None


def require_nothing_unforeseen(deployment: Deployment) -> None:
    """Assert that the log has no unexpected failure."""
    text = deployment.log.read_text()
    assert '"unforeseen_failure"' not in text
    assert "Traceback" not in text
