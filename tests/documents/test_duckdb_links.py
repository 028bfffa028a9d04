"""DuckDB reads a link as printed in docs/table-downloads.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.documents.conftest import shell
from tests.documents.pages import blocks, script, steps
from tests.support.processes import REPOSITORY

PAGE = "docs/table-downloads.md"


def test_duckdb_with_httpfs_reads_a_link_as_printed(
    readers_environment: dict[str, str], elsewhere: Path, tmp_path: Path
) -> None:
    """DuckDB's extension host is not contacted."""
    text = (REPOSITORY / PAGE).read_text("utf-8")
    python = tmp_path / "environment" / "bin" / "python"
    install = re.search(r"`pip install (.*?)`", text)
    add = re.search(r"`python (-c '.*')`", text)
    assert install
    assert add
    home = {**readers_environment, "HOME": str(tmp_path)}
    cache = subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    shell(f"uv venv --quiet --python {sys.executable} {python.parents[1]}", elsewhere, home)
    shell(f"UV_CACHE_DIR='{cache}' uv pip install --quiet --python {python} {install[1]}", elsewhere, home)
    result = blocks(PAGE)
    (duckdb,) = (block for block in result if "import duckdb" in block.text)
    link = script(steps(result[:1]))
    query = steps([duckdb])[0].command.replace("python ", f"{python} ", 1)
    assert "SIM001" in shell(f"{python} {add[1]}\n{link}{query}\n", elsewhere, home)
