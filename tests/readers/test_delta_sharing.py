"""The official Delta Sharing client reads a run, in its own environment since it needs an older pandas."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import datasets
from serve.sharing.profile import make_profile
from tests.support import contract_app
from tests.support.contract_app import FULL, HIDDEN
from tests.support.server import served, token_for

SCRIPT = Path(__file__).parent / "with_delta_sharing.py"
CLIENT = "delta-sharing==1.4.2"


def test_the_official_client_reads_what_was_published(tmp_path: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not there, which makes the environment of the client")
    root = contract_app.publish(tmp_path)
    profile = tmp_path / "profile.share"
    with served(root) as (_, base):
        profile.write_text(make_profile(base, token_for(root), None))
        command = [
            uv,
            "run",
            "--no-project",
            "--quiet",
            "--with",
            CLIENT,
            "python",
            str(SCRIPT),
            str(profile),
            FULL,
        ]
        outside = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=outside)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])

    run = datasets.open(str(root))[FULL]
    assert FULL in read["shares"]
    assert HIDDEN not in read["shares"]
    assert read["tables"] == sorted({"decisions", "portfolio"} | set(read["tables"]))
    for table in ("decisions", "portfolio"):
        frame = run.scan(table).select(pl.exclude(r"^raw_.*$", "unsmoothed_score")).collect()
        if "book" in frame.columns:
            frame = frame.filter(~pl.col("book").cast(pl.String).str.starts_with("raw_"))
        assert read[table]["rows"] == frame.height
        for name, total in read[table]["sums"].items():
            assert total == pytest.approx(frame[name].sum(), rel=1e-9, abs=1e-12), name
    assert read["books"] == ["long_only", "long_short"]
    assert read["limited"] == 7
    assert read["pinned"]
    days = (
        run.scan("decisions").select(first=pl.col("date").min(), last=pl.col("date").max()).collect().row(0)
    )
    assert read["dates"] == [str(day) for day in days]
