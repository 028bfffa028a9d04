"""A worker process with its own libraries: one JSON command per line in, one answer per line out."""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl
import pyarrow as pa
from click.testing import CliRunner

import datasets
from pipeline.group import cli


def _run(arguments: list[str]) -> dict[str, Any]:
    done = CliRunner().invoke(cli, arguments)
    if done.stderr.startswith("Traceback"):
        raise AssertionError(done.stderr)
    return {"exit_code": done.exit_code, "output": done.output}


def _serve(root: str) -> dict[str, Any]:
    results = {}
    for alpha in (opened := datasets.open(root)):
        snapshot = opened[alpha]
        rows = {name: snapshot.scan(name).collect().height for name in snapshot.datasets()}
        results[alpha] = {"snapshot": snapshot.id, "seal": snapshot.manifest.seal_digest, "rows": rows}
    return results


def main() -> None:
    """Answer until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    versions = {"polars": pl.__version__, "pyarrow": pa.__version__}
    out.write(json.dumps(versions) + "\n")
    out.flush()
    for line in sys.stdin:
        requested = json.loads(line)
        answer = _serve(requested["root"]) if "root" in requested else _run(requested["arguments"])
        out.write(json.dumps(answer) + "\n")
        out.flush()


main()
