"""Spark reads an exported catalogue."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyiceberg.catalog.sql import SqlCatalog

import datasets
from pipeline.group import cli
from tests.readers.test_readers import program
from tests.support import contract_app
from tests.support.contract_app import FULL

SCRIPT = Path(__file__).parent / "with_spark.py"
SPARK = "pyspark==3.5.9"
RUNTIME = "snowpark-connect-deps-iceberg==1.0.2"
"""Brings the runtime of Iceberg for that Spark; the archive of 1.0.3 lacks classes."""


def test_spark_reads_an_exported_table_with_its_partitions(tmp_path: Path) -> None:
    program("java")
    root, folder = contract_app.publish(tmp_path), tmp_path / "catalogue"
    exported = CliRunner().invoke(cli, ["export", "--datasets", str(root), "--to", str(folder)])
    assert exported.exit_code == 0, exported.output
    catalogue = SqlCatalog("alphas", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    location = catalogue.load_table("alphas.portfolio").metadata_location
    catalogue.close()

    command = [program("uv"), "run", "--no-project", "--quiet", "--with", SPARK, "--with", RUNTIME]
    outside = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        [*command, "python", str(SCRIPT), location],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=outside,
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])

    runs = datasets.open(str(root))
    expected = {}
    for alpha in runs:
        if not runs[alpha].has("portfolio", "long_short"):
            continue
        frame = runs[alpha].scan("portfolio").collect()
        for (book,), rows in frame.group_by("book"):
            total = pytest.approx(rows["market_pnl"].sum(), rel=1e-9, abs=1e-12)
            days = [str(rows["date"].min()), str(rows["date"].max())]
            expected[alpha, book] = [rows.height, total, *days]
    assert {(alpha, book): figures for alpha, book, *figures in read["sums"]} == expected
    assert read["columns"][:2] == ["alpha_id", "book"]
    assert read["rows_of_one"] == expected[FULL, "long_only"][0]
