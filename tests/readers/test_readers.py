"""Compressed pages are read by other languages' programs and by browsers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readers.browser import read_by
from tests.support.compressed_page import CompressedPage, compressed_page

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompressedPage]:
    with compressed_page(tmp_path_factory.mktemp("readers")) as result:
        yield result


def program(name: str) -> str:
    """Return where a program is; `TEST_READERS=required` makes a missing one a failure."""
    result = shutil.which(name)
    if result is None:
        if os.environ.get("TEST_READERS") == "required":
            pytest.fail(f"TEST_READERS=required, and {name} is not on the path")
        pytest.skip(f"{name} is not installed here (.ci/nightly installs it)")
    return result


def test_go_reads_compressed_pages(page: CompressedPage, tmp_path: Path) -> None:
    variables = {**os.environ, "GOCACHE": str(tmp_path), "GO111MODULE": "off"}
    command = [program("go"), "run", str(HERE / "ask.go"), page.address, page.token]
    assert subprocess.run(command, check=True, capture_output=True, env=variables).stdout == page.body


def test_java_reads_compressed_pages(page: CompressedPage) -> None:
    command = [program("java"), str(HERE / "Ask.java"), page.address, page.token]
    assert subprocess.run(command, check=True, capture_output=True).stdout == page.body


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_chromium_reads_compressed_pages(page: CompressedPage, coding: str, tmp_path: Path) -> None:
    command = [program("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    command += ["--disable-sync", f"--user-data-dir={tmp_path}"]
    assert read_by(command, page, coding, tmp_path) == page.body


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_firefox_reads_compressed_pages(page: CompressedPage, coding: str, tmp_path: Path) -> None:
    command = [program("firefox-esr"), "--headless", "--no-remote", "--profile", str(tmp_path)]
    assert read_by(command, page, coding, tmp_path) == page.body
