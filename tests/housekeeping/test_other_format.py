"""A root of another format is refused by every command, and replaced by a forced build."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

import datasets
from datasets.layout import MANIFEST, pointer_path
from datasets.manifest import FORMAT, digest
from pipeline.snapshot_builder import build_seal
from schemas.errors import OtherFormat
from tests.support.application import running
from tests.support.history import ALPHA, History

OTHER = FORMAT + 1


def reformat(path: Path) -> bytes:
    """Rewrite a document in another format version; return its bytes."""
    document = orjson.loads(path.read_bytes()) | {"format": OTHER, "colour": "red"}
    del document["sealed_at"]
    path.write_bytes(orjson.dumps(document))
    return path.read_bytes()


def says_what_to_do(message: str) -> bool:
    flat = " ".join(message.split())
    return all(
        part in flat
        for part in (f"of format {OTHER}", f"reads format {FORMAT}", "alpha-results build SEAL --force")
    )


def test_a_pointer_without_a_format_is_described_without_python_terms(history: History) -> None:
    (history.root / pointer_path(ALPHA)).write_bytes(b"{}")
    result = history.run("rollback", ALPHA)
    assert result.exit_code == 4
    assert f"{pointer_path(ALPHA)} names no format, and this program reads format {FORMAT}" in result.output


@pytest.fixture
def other_pointer(history: History) -> History:
    """Return a root whose pointer is of another format."""
    reformat(history.root / pointer_path(ALPHA))
    return history


@pytest.mark.parametrize(
    "command",
    [
        ("list",), ("show", ALPHA), ("gc",), ("rollback", ALPHA), ("withdraw", ALPHA), ("restore", ALPHA),
        ("verify", "--json"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_every_command_on_a_pointer_of_another_format_is_refused(
    other_pointer: History, command: tuple[str, ...]
) -> None:
    before = (other_pointer.root / pointer_path(ALPHA)).read_bytes()
    result = other_pointer.run(*command)
    assert result.exit_code == 4
    assert says_what_to_do(result.output)
    assert (other_pointer.root / pointer_path(ALPHA)).read_bytes() == before
    assert other_pointer.there() == set(other_pointer.snapshots)


def test_a_build_is_refused_until_it_is_forced(other_pointer: History) -> None:
    seal = str(other_pointer.seals[2])
    with pytest.raises(OtherFormat) as refused:
        build_seal(seal, other_pointer.root)
    assert says_what_to_do(str(refused.value))
    assert build_seal(seal, other_pointer.root, force=True).snapshot == other_pointer.snapshots[2]
    assert other_pointer.run("verify").exit_code == 0
    assert not build_seal(seal, other_pointer.root).changed


def test_a_batch_over_all_seals_rebuilds_the_root(other_pointer: History) -> None:
    seals = ("--from", str(other_pointer.seals[0].parents[1]))
    refused = other_pointer.run("build", *seals)
    assert refused.exit_code == 4
    assert says_what_to_do(refused.output)
    assert other_pointer.run("build", *seals, "--force").exit_code == 0
    assert other_pointer.pointer.snapshot == other_pointer.snapshots[2]
    assert other_pointer.run("verify").exit_code == 0
    assert other_pointer.run("build", *seals).exit_code == 0


def test_a_node_answers_503_without_naming_files(other_pointer: History) -> None:
    with running(other_pointer.root) as api:
        error = api.json(f"/v1/alphas/{ALPHA}/portfolio", api.key(), 503)["error"]
    assert "format" not in error["message"]


def test_a_manifest_of_another_format_is_neither_verified_nor_rolled_back_to(
    history: History,
) -> None:
    reformat(history.place(MANIFEST, history.snapshots[1]))
    back = history.run("rollback", ALPHA, "--to", history.snapshots[1])
    assert back.exit_code == 4
    assert says_what_to_do(back.output)
    assert history.run("verify").exit_code == 0
    history.change_pointer(manifest_sha256=digest(reformat(history.place(MANIFEST))))
    result = history.run("verify", "--json")
    assert result.exit_code == 4
    assert says_what_to_do(result.output)
    with pytest.raises(OtherFormat):
        _ = datasets.open(history.root)[ALPHA].manifest
    assert build_seal(str(history.seals[2]), history.root).changed
    assert history.run("verify").exit_code == 0


def test_unknown_fields_of_a_later_version_are_ignored(history: History) -> None:
    path = history.root / pointer_path(ALPHA)
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"colour": "red"}))
    assert list(datasets.open(history.root)) == [ALPHA]
    assert history.pointer.snapshot == history.snapshots[2]
