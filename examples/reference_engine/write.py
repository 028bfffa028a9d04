"""The content of a seal, and its files: all others first, `seal.json` last, which marks it as finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.errors import SettingsError

UNFINISHED: Final = "seal.json.unfinished"


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The content of a seal.

    Attributes
    ----------
    manifest
        The keys of `seal.json` other than `kinds`.
    tables
        Kind -> Parquet table.
    metrics
        The run's own figures; None to omit them.
    description
        The description; None to omit it.
    source
        Relative path -> bytes of the run's code; None to omit it.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    metrics: Sequence[Mapping[str, Any]] | None = None
    description: Mapping[str, Any] | None = None
    source: Mapping[str, bytes] | None = None


def write_seal(folder: Path, record: RunRecord, *, finish: bool = True) -> Path:
    """Write a run as a seal.

    The same record gives the same bytes. An interrupted call leaves a folder without `seal.json`, which is not a seal.

    Parameters
    ----------
    folder
        Folder of the seal; created if missing, and refused unless it is empty.
    record
        The finished run.
    finish
        Whether the folder becomes a seal that a batch may find; otherwise :func:`finish_seal` does that.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    SettingsError
        When the folder is not empty: a seal is written once.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} is not empty, and a seal is written once: name an empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, Any] = {}
    for kind, table in record.tables.items():
        kinds[kind] = _write_table(folder, kind, table)
    if record.metrics is not None:
        kinds["metrics"] = _write_json(folder, "metrics", {"records": list(record.metrics)})
    if record.description is not None:
        kinds["description"] = _write_json(folder, "description", record.description)
    if record.source is not None:
        kinds["source"] = _write_source(folder, record.source)
    (folder / UNFINISHED).write_bytes(json_bytes({**record.manifest, "kinds": kinds}))
    if finish:
        finish_seal(folder)
    return folder


def finish_seal(folder: Path) -> None:
    """Give the manifest of a seal its name, in one step."""
    (folder / UNFINISHED).replace(folder / "seal.json")


def json_bytes(document: Any) -> bytes:
    """Return a document as indented UTF-8 JSON; NaN and infinity raise ValueError."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def entry(path: Path, relative: str) -> dict[str, Any]:
    """Return a file's entry in the manifest: path in the seal, digest and size."""
    content = path.read_bytes()
    return {"path": relative, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _write_table(folder: Path, kind: str, table: pl.DataFrame) -> dict[str, Any]:
    name = f"{kind}.parquet"
    file = BytesIO()  # Polars reports a full disk as a damaged file
    table.write_parquet(file, compression="zstd", compression_level=3, statistics=True)
    (folder / name).write_bytes(file.getvalue())
    return {**entry(folder / name, name), "rows": table.height}


def _write_json(folder: Path, kind: str, document: Any) -> dict[str, Any]:
    name = f"{kind}.json"
    (folder / name).write_bytes(json_bytes(document))
    return entry(folder / name, name)


def _write_source(folder: Path, files: Any) -> dict[str, Any]:
    digests: dict[str, str] = {}
    for relative, content in sorted(files.items()):
        path = folder / "source" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digests[relative] = hashlib.sha256(content).hexdigest()
    return {"path": "source/", "files": digests}
