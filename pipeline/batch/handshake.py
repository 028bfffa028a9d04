"""What a worker of a cluster is asked before it builds: whether it is of the release that asks.

What is sent to a worker is a function by its value: neither the scheduler nor a worker needs this project to read it,
so that one that lacks it can say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.release import shown

Task = Callable[..., dict[str, Any]]


def task() -> Task:
    """Return what a worker runs: ``(request or None, release)`` to what it is and what the build came to.

    Returns
    -------
    callable
        Its answer has ``worker``, the address, when it is a build that asks, and ``release``, or ``absent`` with the reason when the project is not
        there. Only when the releases are equal, and a request is given, something is built: ``built`` is then the entry
        and the exit code.
    """

    def build(request: dict[str, Any] | None, wanted: dict[str, str]) -> dict[str, Any]:
        # Pickled by value: whatever it needs is imported here.
        import contextlib  # noqa: PLC0415

        import distributed  # noqa: PLC0415

        answer: dict[str, Any] = {}
        with contextlib.suppress(ValueError):  # asked apart from any build: who asks knows whom
            answer["worker"] = distributed.get_worker().address
        try:
            from pipeline.release import current  # noqa: PLC0415

            answer["release"] = current()
        except Exception as error:  # noqa: BLE001 - whatever keeps it from being read is an answer
            answer["absent"] = f"{type(error).__name__}: {error}"
        if request is not None and answer.get("release") == wanted:
            from pipeline.batch.cluster import build_on_worker  # noqa: PLC0415

            answer["built"] = build_on_worker(request)
        return answer

    return build


def refusal(answer: Mapping[str, Any], ours: dict[str, str]) -> str | None:
    """Say why a worker cannot build, naming both releases; None when it can."""
    theirs = answer.get("release")
    if theirs == ours:
        return None
    if theirs is None:
        return (
            f"the worker {answer['worker']} has not this project ({answer.get('absent')}); start it in a checkout, with "
            f"PYTHONPATH=."
        )
    differ = [name for name in ours if theirs.get(name) != ours[name]]
    there, here = ({name: parts.get(name, "none") for name in differ} for parts in (theirs, ours))
    return (
        f"the worker {answer['worker']} is of another release: it has {shown(there)}, this command has {shown(here)}; "
        "install the same on both"
    )
