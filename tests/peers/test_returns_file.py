"""The file of daily returns: whole or not there, shared by processes, read again when damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serve.peers.returns import DailyReturns
from serve.peers.returns_file import Record, ReturnsFile, open_returns


def returns(seed: int, n: int = 30) -> DailyReturns:
    return DailyReturns(np.arange(n, dtype=np.int32), np.random.default_rng(seed).normal(size=n))


def filled(path: Path, count: int = 5) -> list[Record]:
    file = ReturnsFile(path)
    assert file.may_write()
    return [file.append(f"A{n}", "snapshot", returns(n, n)) for n in range(count)]


def read(path: Path) -> dict[str, DailyReturns]:
    return {record.alpha_id: found for record, found in ReturnsFile(path).read_on()}


def test_what_one_process_appends_another_reads_on(tmp_path: Path) -> None:
    reader = open_returns(tmp_path / "folder", "long_short")
    writer = open_returns(tmp_path / "folder", "long_short")
    assert writer.may_write()
    assert not reader.may_write(), "one process writes"
    for n in range(3):
        record = writer.append(f"A{n}", "snapshot", returns(n))
        ((same, found),) = reader.read_on()
        assert same == record
        assert (found.days == returns(n).days).all()
        assert (found.values == returns(n).values).all()
        assert (reader.days(record) == returns(n).days).all()
        rows = np.empty((1, 7))
        reader.fill(rows, [record], [4])
        assert (rows[0] == returns(n).values[4:11]).all()
    del writer
    assert reader.may_write(), "the next one writes when that one is gone"


@pytest.mark.parametrize("cut", [1, 30, 80])
def test_what_a_writer_that_died_left_behind_does_not_count(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "file"
    filled(path)
    path.write_bytes(path.read_bytes()[:-cut])
    file = ReturnsFile(path)
    assert [record.alpha_id for record, _ in file.read_on()] == ["A0", "A1", "A2", "A3"]
    assert file.has_remains


@pytest.mark.parametrize("place", [40, 60, 200, 300])
def test_a_record_that_was_altered_does_not_count(tmp_path: Path, place: int) -> None:
    path = tmp_path / "file"
    filled(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(bytes(data))
    found = read(path)
    assert len(found) < 5
    for name, series in found.items():
        assert (series.values == returns(int(name[1:]), int(name[1:])).values).all()


def test_a_file_of_another_format_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"something else altogether, and longer than the first line is")
    assert read(path) == {}
    filled(path)
    assert len(read(path)) == 5


def test_a_file_is_written_anew_under_the_eyes_of_its_readers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    records = filled(path)
    reader, writer = ReturnsFile(path), ReturnsFile(path)
    assert writer.may_write()
    assert len(list(reader.read_on())) == len(list(writer.read_on())) == 5
    fresh, found = writer.rewrite(records[3:])
    assert [x.alpha_id for x in found] == ["A3", "A4"]
    assert reader.replaced
    assert (reader.days(records[4]) == returns(4, 4).days).all(), "what was read stays readable"
    assert list(read(path)) == ["A3", "A4"]
    fresh.append("A9", "snapshot", returns(9))
    assert list(read(path)) == ["A3", "A4", "A9"]


def test_a_folder_that_others_may_use_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    file = open_returns(folder, "long_short")
    file.append("A", "snapshot", returns(1))
    assert list(folder.iterdir()) == []
