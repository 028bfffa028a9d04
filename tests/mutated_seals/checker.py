"""``python -m tests.mutated_seals.checker``: builds seals for a parent, each in a forked process of little memory and little time.

Imports happen once. Standard input has one request per line, standard output one answer per line.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from typing import Any, NoReturn


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for module in (
        "pipeline.snapshot_builder",
        "pipeline.check_command",
        "datasets.storage.backends.file",
        "polars._utils.parquet",
    ):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _be_the_build(request, writing)
    os.close(writing)
    reported, late = _receive(reading, began + request["seconds"])
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    outcome = json.loads(reported) if reported and not late else {"outcome": "hung" if late else "died"}
    return {
        **outcome,
        "exit_code": os.waitstatus_to_exitcode(status),
        "peak_bytes": used.ru_maxrss * 1024,
        "seconds": time.monotonic() - began,
    }


def _receive(reading: int, until: float) -> tuple[bytes, bool]:
    received = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                return received, True
            part = pipe.read(1 << 16)
            if not part:
                return received, False
            received += part


def _be_the_build(request: dict[str, Any], writing: int) -> NoReturn:
    try:
        os.dup2(os.open(request["complaints"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        resource.setrlimit(resource.RLIMIT_AS, (request["address_space"],) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(writing, "w") as pipe:
            json.dump(_build(request["seal"], request["root"], request["archives"]), pipe)
    except BaseException:  # noqa: BLE001 - the child must not return into the loop of its parent
        traceback.print_exc()
        os._exit(70)
    os._exit(0)


def _build(seal: str, root: str, archives: str) -> dict[str, Any]:
    from datasets.storage import open_storage  # noqa: PLC0415 - loaded long since
    from pipeline.check_command import check_seal  # noqa: PLC0415 - as above
    from pipeline.housekeeping.verify import verify  # noqa: PLC0415 - as above
    from pipeline.internal import contained  # noqa: PLC0415 - as above
    from pipeline.snapshot_builder import build_seal  # noqa: PLC0415 - as above
    from schemas.errors import AlphaResultsError, SealRefused  # noqa: PLC0415 - as above

    try:
        with contained("the build"):
            built = build_seal(seal, root, archives=archives)
    except SealRefused as refusal:
        return {"outcome": "refused", "message": str(refusal), "violations": list(refusal.violations)}
    except AlphaResultsError as error:
        return {"outcome": "failed", "error": type(error).__name__, "message": str(error)}
    checked = check_seal(seal, False, None, None, lambda _: None)
    verdict = verify(open_storage(root), built.alpha_id)
    return {
        "outcome": "built",
        "alpha_id": built.alpha_id,
        "snapshot": built.snapshot,
        "archive": None if built.archive is None else built.archive.status,
        "check": checked.exit_code if isinstance(checked, AlphaResultsError) else int(checked.refused),
        "faults": [str(fault) for fault in verdict.faults],
    }


if __name__ == "__main__":
    main()
