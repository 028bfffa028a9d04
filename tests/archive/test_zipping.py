from __future__ import annotations

import hashlib
import io
import random
import subprocess
import sys
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from pipeline.archive.package import zip_files

FILES = {"run.py": b"print(1)\n", "pkg/__init__.py": b"", "data/é.txt": "ü".encode(), "a": bytes(range(256))}
names = st.from_regex(r"[a-z]{1,6}(/[a-z]{1,6}){0,2}", fullmatch=True)


def test_the_archive_contains_exactly_the_files() -> None:
    with zipfile.ZipFile(io.BytesIO(zip_files(FILES))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(FILES)
        assert {name: archive.read(name) for name in archive.namelist()} == FILES


def test_the_bytes_do_not_depend_on_machine_or_time() -> None:
    with zipfile.ZipFile(io.BytesIO(zip_files(FILES))) as archive:
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert entry.external_attr >> 16 == 0o100644
            assert (entry.create_system, entry.extra, entry.comment) == (3, b"", b"")
            assert entry.compress_type == zipfile.ZIP_STORED
        assert archive.comment == b""


@given(st.dictionaries(names, st.binary(max_size=50), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_the_files_does_not_change_the_bytes(
    files: dict[str, bytes], order: random.Random
) -> None:
    shuffled = list(files.items())
    order.shuffle(shuffled)
    assert zip_files(dict(shuffled)) == zip_files(files)


def test_another_process_at_another_time_writes_the_same_bytes() -> None:
    script = (
        "import hashlib\nfrom pipeline.archive.package import zip_files\n"
        "from pathlib import Path\n"
        f"print(hashlib.sha256(zip_files({FILES!r})).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "Asia/Tokyo", "PYTHONPATH": ".", "PYTHONHASHSEED": "7"},
    )
    assert other.stdout.strip() == hashlib.sha256(zip_files(FILES)).hexdigest()


def test_no_files_give_an_empty_archive() -> None:
    with zipfile.ZipFile(io.BytesIO(zip_files({}))) as archive:
        assert archive.namelist() == []
