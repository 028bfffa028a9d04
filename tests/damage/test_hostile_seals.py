"""Hostile seals: each is refused by a rule and affects no other seal."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from datasets.disk import NotRegular, TooLarge, read_regular
from pipeline.batch import worker
from pipeline.batch.discover import Seals
from pipeline.check_command import check_seal
from pipeline.group import cli
from pipeline.rules import RULES
from schemas.errors import InternalFailure
from schemas.kinds import MAX_BYTES, MAX_KEYS, MAX_ROWS
from schemas.objects.description import MAX_LABELS
from tests.support.forged_parquet import equal_weeks, forge_footer, forge_page, put, put_values, set_rows
from tests.support.pipeline_command import report
from tests.support.processes import REPOSITORY
from tests.support.seals import declare, make_seal, resign, rewrite
from tests.support.waiting import PATIENCE


def fifo_as_manifest(seal: Path) -> None:
    (seal / "seal.json").unlink()
    os.mkfifo(seal / "seal.json")


def endless_manifest(seal: Path) -> None:
    (seal / "seal.json").unlink()
    (seal / "seal.json").symlink_to("/dev/zero")


def manifest_of_many_bytes(seal: Path) -> None:
    with (seal / "seal.json").open("r+b") as file:
        file.truncate(MAX_BYTES["seal"] + 1)


def description_of_many_bytes(seal: Path) -> None:
    with (seal / "description.json").open("r+b") as file:
        file.truncate(MAX_BYTES["description"] + 1)
    resign(seal)


def sparse_table(seal: Path) -> None:
    with (seal / "pnl.parquet").open("r+b") as file:
        file.truncate(2**43)  # a sparse file of eight tebibytes


def endless_table(seal: Path) -> None:
    (seal / "pnl.parquet").unlink()
    (seal / "pnl.parquet").symlink_to("/dev/zero")


def fifo_as_source(seal: Path) -> None:
    first = next(path for path in (seal / "source").rglob("*") if path.is_file())
    first.unlink()
    os.mkfifo(first)


def long_path(seal: Path) -> None:
    declare(seal, "pnl", path="a" * 5000)


def long_nested_path(seal: Path) -> None:
    declare(seal, "pnl", path="/".join(["a" * 200] * 25))


def absurd_rows(seal: Path) -> None:
    declare(seal, "pnl", rows=MAX_ROWS + 1)


def nanoseconds(seal: Path) -> None:
    """Write a nanosecond timestamp that is not a multiple of a microsecond."""
    path = seal / "portfolio.parquet"
    stored = pq.read_table(path)
    place = stored.schema.get_field_index("timestamp")
    values = stored.column("timestamp").cast(pa.timestamp("ns", tz="UTC")).cast(pa.int64()).to_pylist()
    odd = pa.array([value + 1 for value in values], pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
    pq.write_table(stored.set_column(place, "timestamp", odd), path)
    resign(seal)


def _forge(seal: Path, kind: str, change: Callable[[bytes], bytes], **declared: Any) -> None:
    path = seal / f"{kind}.parquet"
    path.write_bytes(change(path.read_bytes()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    declare(seal, kind, sha256=digest, bytes=path.stat().st_size, **declared)


def absurd_footer(seal: Path) -> None:
    """Claim more rows in the footer than fit into memory."""
    _forge(seal, "rebalances", partial(forge_footer, change=partial(set_rows, rows=2**60)))


def more_rows_than_its_row_groups(seal: Path) -> None:
    _forge(seal, "pnl", partial(forge_footer, change=put(3, 2**27)))


def page_of_less_than_nothing(seal: Path) -> None:
    """Claim a negative number of values in a page, which crashes the reader."""
    _forge(seal, "pnl", partial(forge_page, change=put_values(-1)))


def dictionary_of_billions(seal: Path) -> None:
    """Claim more dictionary entries than fit into memory, which crashes the reader."""
    _forge(seal, "pnl", partial(forge_page, change=put_values(2**31 - 1), dictionary=True))


def manifest_of_many_keys(seal: Path) -> None:
    rewrite(seal, "seal", lambda document: document | {f"key_{number}": 0 for number in range(400_000)})


def manifest_of_many_equal_keys(seal: Path) -> None:
    path = seal / "seal.json"
    path.write_text("{" + '"a": 0, ' * (MAX_KEYS["seal"] - 20) + path.read_text().lstrip("{ \n"))


def manifest_of_many_kinds(seal: Path) -> None:
    def add(document: dict[str, Any]) -> dict[str, Any]:
        none = {"path": "none", "sha256": "0" * 64, "bytes": 0}
        document["kinds"] |= {f"kind_{number}": none for number in range(20_000)}
        return document

    rewrite(seal, "seal", add)


def manifest_of_many_levels(seal: Path) -> None:
    path = seal / "seal.json"
    path.write_text(path.read_text().rstrip("} \n") + f'}}, "deep": {"[" * 100_000}{"]" * 100_000}}}')


def manifest_of_open_strings(seal: Path) -> None:
    (seal / "seal.json").write_bytes(b'"\\' * (MAX_BYTES["seal"] // 2))


def description_of_many_levels(seal: Path) -> None:
    rewrite(seal, "description", lambda document: document | {"thesis": _nested(900)})


def description_of_many_keys(seal: Path) -> None:
    years = {f"key_{number}": "x" for number in range(100_000)}
    rewrite(seal, "description", lambda document: document | {"more": years})


def metrics_of_many_levels(seal: Path) -> None:
    rewrite(seal, "metrics", lambda document: {"records": [*document["records"], _nested(900)]})


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


def a_summary_of_millions(seal: Path) -> None:
    rewrite(seal, "description", lambda document: document | {"tldr": "x" * 3_900_000})


def many_tags(seal: Path) -> None:
    tags = [f"tag {number}" for number in range(MAX_LABELS + 1)]
    rewrite(seal, "description", lambda document: document | {"classification": {"tags": tags}})


def equal_rows(seal: Path) -> None:
    """Seal a small file of twenty million rows."""
    rows = 20_000_000
    _forge(seal, "rebalances", lambda _: equal_weeks(rows), rows=rows)


HOSTILE: dict[Callable[[Path], None], str] = {
    fifo_as_manifest: "seal.path",
    endless_manifest: "seal.path",
    manifest_of_many_bytes: "seal.size",
    description_of_many_bytes: "seal.size",
    sparse_table: "seal.size",
    endless_table: "seal.path",
    fifo_as_source: "seal.path",
    long_path: "seal.path",
    long_nested_path: "seal.path",
    absurd_rows: "seal.size",
    nanoseconds: "table.columns",
    absurd_footer: "table.columns",
    more_rows_than_its_row_groups: "table.columns",
    equal_rows: "table.columns",
    manifest_of_many_keys: "seal.manifest",
    manifest_of_many_equal_keys: "seal.manifest",
    manifest_of_many_kinds: "seal.manifest",
    manifest_of_many_levels: "seal.manifest",
    manifest_of_open_strings: "seal.manifest",
    description_of_many_levels: "description.object",
    description_of_many_keys: "description.object",
    metrics_of_many_levels: "metrics.record",
    a_summary_of_millions: "description.shape",
    many_tags: "description.shape",
}


def run(*arguments: str) -> Any:
    """Run a command with limits on memory and time."""
    result = subprocess.run(
        ["bash", "-c", 'ulimit -v 16000000; exec "$@"', "-", sys.executable, "-m", "pipeline", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    answer = report(result.stdout) if arguments[0] == "build" else json.loads(result.stdout)
    return result.returncode, answer["seals"]


@pytest.mark.parametrize("apart", ["check", "build", "build --from"])
def test_hostile_seals_do_not_affect_good_ones(tmp_path: Path, apart: str) -> None:
    seals = tmp_path / "seals"
    small = partial(make_seal, seals, weeks=14, raw=False)
    # A build runs the same checks as `check`, so it remains to assert that the batch continues.
    hostile = dict(HOSTILE if apart == "check" else list(HOSTILE.items())[::3])
    for place, spoil in enumerate(hostile):
        spoil(small(alpha_id=f"bad_{place:02}_{spoil.__name__}"))
    for name in ("aaa", "zzz"):
        small(alpha_id=name)
    every = [str(path) for path in sorted(seals.iterdir())] + ["/tmp/" + "a" * 5000, "/tmp/" + "b/" * 2500]
    command, *options = apart.split()
    where = ["--datasets", str(tmp_path / "root")] if command == "build" else []
    given = [*options, str(seals)] if "--from" in options else [*options, *every]
    code, result = run(command, *where, "--json", *given)
    by_name = {Path(entry["seal"]).name: entry for entry in result}
    assert code == (1 if "--from" in options else 2 if command == "check" else 1)
    for name in ("aaa", "zzz"):
        assert by_name[name].get("refused") is False or by_name[name]["outcome"] == "built"
    for place, (spoil, rule) in enumerate(hostile.items()):
        entry = by_name[f"bad_{place:02}_{spoil.__name__}"]
        assert rule in [violation["rule"] for violation in entry["violations"]], entry
        assert rule in RULES
    if "--from" not in options:
        assert [entry["error"] for entry in result if len(entry["seal"]) > 5000] == ["SealUnreadable"] * 2


def test_deep_folders_and_nested_seals_hide_no_other_seals(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seals = tmp_path / "seals"
    # Too deep for the code that removes the test's folder.
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", seals / "aaa"], check=True))
    small = partial(make_seal, weeks=14, raw=False)
    small(seals, alpha_id="aaa")
    small(seals / "team", alpha_id="zzz")
    (seals / "seal.json").write_text("{}")
    os.mkfifo(seals / "team" / "seal.json")
    deep = os.open(seals / "aaa", os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    code, result = run("build", "--datasets", str(tmp_path / "root"), "--json", "--from", str(seals))
    assert list(Seals(str(seals / "aaa" / "source")).scan()) == []
    assert code == 1
    assert {Path(entry["seal"]).name: entry["outcome"] for entry in result} == {
        "seals": "refused",
        "team": "refused",
        "aaa": "built",
        "zzz": "built",
    }


def test_a_nanosecond_timestamp_is_accepted(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    path = seal / "portfolio.parquet"
    stored = pq.read_table(path)
    for name in ("timestamp", "date"):
        place = stored.schema.get_field_index(name)
        zone = "UTC" if name == "timestamp" else None
        stored = stored.set_column(place, name, stored.column(name).cast(pa.timestamp("ns", tz=zone)))
    pq.write_table(stored, path)
    result = CliRunner().invoke(cli, ["check", str(resign(seal))])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("spoil", [page_of_less_than_nothing, dictionary_of_billions])
@pytest.mark.parametrize("command", ["check", "build"])
def test_a_seal_that_crashes_its_reader_affects_no_other(
    tmp_path: Path, command: str, spoil: Callable[[Path], None]
) -> None:
    small = partial(make_seal, tmp_path / "seals", weeks=14, raw=False)
    good, deadly = small(alpha_id="aaa"), small(alpha_id="deadly")
    spoil(deadly)
    where = ["--datasets", str(tmp_path / "root")] if command == "build" else []
    code, (first, second) = run(command, *where, "--json", str(good), str(deadly))
    assert first.get("refused") is False or first["outcome"] == "built"
    assert second["error"] == "BuildCrashed"
    assert "SIGABRT" in second["message"]
    assert code == 7
    code, (alone,) = run(command, *where, "--json", str(deadly))
    assert alone["error"] == "BuildCrashed"
    assert code == 7


@pytest.mark.parametrize("command", ["check", "build"])
@pytest.mark.parametrize(
    "fault", [OverflowError("too large"), MemoryError(), pl.exceptions.PanicException("x")]
)
def test_an_unexpected_error_is_reported_with_its_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, fault: BaseException
) -> None:
    from pipeline.seal import Seal  # noqa: PLC0415 - what is broken here

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Seal, "files", fail)
    seal = str(make_seal(tmp_path))
    if command == "build":
        outcome = worker.build(seal, {"root": str(tmp_path / "root")}, lambda _: None)
        entry, code = outcome.entry, outcome.exit_code
    else:
        checked = check_seal(seal, False, None, None, lambda _: None)
        assert isinstance(checked, InternalFailure)
        entry, code = {"failure": "internal", "message": str(checked)}, checked.exit_code
    assert code == 7
    assert entry["failure"] == "internal"
    assert type(fault).__name__ in entry["message"]
    assert "report it" in entry["message"]


def test_undecodable_file_names_affect_no_other_seal(tmp_path: Path) -> None:
    seals = tmp_path / "seals"
    good = make_seal(seals, alpha_id="good", weeks=14, raw=False)
    strange = seals / os.fsdecode(b"odd\xff\x1b[31m")
    strange.mkdir()
    (strange / "seal.json").write_text((good / "seal.json").read_text().replace('"good"', '"odd"'))
    code, result = run("build", "--datasets", str(tmp_path / "root"), "--json", "--from", str(seals))
    assert code == 2
    assert {Path(entry["seal"]).name: entry["outcome"] for entry in result} == {
        "good": "built",
        "odd\\udcff\\u001b[31m": "failed",
    }


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular(str(file), 5) == b"12345"
    with pytest.raises(TooLarge):
        read_regular(str(file), 4)
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "link", tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(NotRegular):
            read_regular(str(name), 5)
    with pytest.raises(FileNotFoundError):
        read_regular(str(tmp_path / "none"), 5)
