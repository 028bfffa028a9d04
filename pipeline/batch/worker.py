"""``python -m pipeline.batch.worker``: one build, for a parent that reads its progress and outlives its end.

The request is one line of JSON on the standard input, where no list of processes shows it. What is written back
are lines of JSON too: ``{"stage": …}`` as the build goes on, and ``{"entry": …, "exit_code": …}`` at the end. The
input stays open as long as the parent lives; when it ends, so does this process, at whatever it is.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, BinaryIO

import orjson

from pipeline.batch.request import Request, built, failed
from pipeline.internal import contained
from schemas.allocator import prepare_building
from schemas.errors import AlphaResultsError


def main() -> None:
    """Build what the parent asks for; whatever is raised for it is an answer, not a crash."""
    prepare_building()
    # Whatever a library prints must not end up between the lines of the answer.
    answer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = Request.from_dict(json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_parent, args=(sys.stdin.buffer,), daemon=True).start()
    from pipeline.snapshot_builder import build_seal  # noqa: PLC0415 - slow to load: the parent must not be left unwatched meanwhile

    try:
        with contained("the build"):
            result = build_seal(
                request.seal,
                request.root,
                force=request.force,
                archives=request.archives,
                exclude=request.exclude,
                single_writer=request.single_writer,
                strict=request.strict,
                on_stage=lambda stage: _tell(answer, {"stage": stage}),
            )
        outcome = built(request.shown, result)
    except AlphaResultsError as error:
        outcome = failed(request.shown, error)
    _tell(answer, {"entry": outcome.entry, "exit_code": outcome.exit_code})


def _tell(answer: BinaryIO, line: dict[str, Any]) -> None:
    answer.write(orjson.dumps(line) + b"\n")
    answer.flush()


def _end_with_parent(stream: BinaryIO) -> None:
    stream.read()
    os._exit(1)


if __name__ == "__main__":
    main()
