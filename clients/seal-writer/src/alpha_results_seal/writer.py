"""Writes a seal: all files first, then ``seal.json``, which completes it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from alpha_results_seal.checks import COLUMNS, KEYS, pipeline_problems, typed
from alpha_results_seal.derive import completed
from alpha_results_seal.errors import SealError, SealRefused
from alpha_results_seal.frames import table
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.signing import sign_manifest

_NAME = "alpha-results-seal"
"""Name of this package's own distribution."""
_ALPHA_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


class SealWriter:
    """Builder of one seal: add the run's data, then :meth:`write`.

    Parameters
    ----------
    folder
        Folder of the seal, on a local disk; it must not exist, or be empty.
    alpha_id
        Address of the run in the API.
    engine
        Name and version of the engine; by default those of this package.
    started_at
        Start of the run, timezone-aware; by default when this writer was created.
    sealed_at
        End of the run, timezone-aware; by default when the seal is written. With an explicit time, sealing a run twice gives
        the same bytes.
    equity_basis
        Opening equity of each book; a ledger's own equity basis replaces it.
    smoothing
        Whether and how the score is smoothed: ``{"applied": False}`` says that there is one signal.
    key
        PEM file with the private key of the team, which signs the seal; by default it is not signed.
    source_alpha_id, reconciliation
        As in ``seal.json``.

    Raises
    ------
    SealError
        If the id is invalid, or a time has no zone.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        alpha_id: str,
        engine: tuple[str, str] | None = None,
        started_at: dt.datetime | None = None,
        sealed_at: dt.datetime | None = None,
        equity_basis: float = 1.0,
        smoothing: Mapping[str, Any] | None = None,
        key: str | os.PathLike[str] | None = None,
        source_alpha_id: str | None = None,
        reconciliation: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(alpha_id, str) or _ALPHA_ID.fullmatch(alpha_id) is None or ".." in alpha_id:
            raise SealError(
                f"alpha_id {alpha_id!r} is invalid: use 1 to 128 letters, digits, '_', '.', '-', the first a letter or "
                "digit, without '..'."
            )
        if "://" in os.fspath(folder):
            raise SealError(
                f"{os.fspath(folder)} is a URL, and a seal is written to a local disk: copy it from there, seal.json last."
            )
        engine = engine or (_NAME, _version())
        if not isinstance(engine, (tuple, list)) or len(engine) != 2:
            raise SealError(f"engine is {engine!r}: give its name and version, such as ('my-engine', '3.2').")
        self._folder, self._key = Path(folder), key
        self._tables: dict[str, pl.DataFrame] = {}
        self._metrics: list[Mapping[str, Any]] = []
        self._description: Mapping[str, Any] | None = None
        self._source: dict[str, bytes] = {}
        self._head: dict[str, Any] = {
            "seal_version": 1,
            "alpha_id": alpha_id,
            "source_alpha_id": source_alpha_id,
            "started_at": _instant("started_at", started_at or dt.datetime.now(dt.timezone.utc)),
            "sealed_at": None if sealed_at is None else _instant("sealed_at", sealed_at),
            "engine": {"name": engine[0], "version": engine[1]},
            "equity_basis": equity_basis,
            "smoothing": _smoothing(smoothing),
            "reconciliation": None if reconciliation is None else dict(reconciliation),
        }

    def add_ledger(self, ledger: Ledger) -> SealWriter:
        """Add the tables, description and opening equity of a ledger; raises SealError for anything else."""
        if not isinstance(ledger, Ledger):
            raise SealError(f"ledger is {ledger!r}: give a Ledger, such as Ledger.from_weights(…).")
        for kind, frame in ledger.tables.items():
            self.add_table(kind, frame)
        self._head["smoothing"] = self._head["smoothing"] or _smoothing(ledger.smoothing)
        self._description = self._description or ledger.description
        self._head["equity_basis"] = ledger.equity_basis
        return self

    def add_table(self, kind: str, frame: Any) -> SealWriter:
        """Add one table; columns that follow from others may be omitted.

        Parameters
        ----------
        kind
            ``rebalances``, ``decisions``, ``portfolio``, ``positions``, ``pnl``, ``trades`` or ``trials``.
        frame
            A frame of Polars, pandas or Arrow.

        Raises
        ------
        SealError
            If the kind does not exist or was already added, or a column is undeclared or has another type.
        """
        if kind not in COLUMNS:
            raise SealError(f"{kind!r} is not a table of a seal: it is one of {', '.join(COLUMNS)}.")
        if kind in self._tables:
            raise SealError(f"{kind} was added already.")
        self._tables[kind] = typed(kind, table(frame, kind))
        return self

    def add_metrics(self, records: Sequence[Mapping[str, Any]]) -> SealWriter:
        """Add the run's own figures; each is compared with its tables. Raises SealError for anything but a list of records."""
        records = list(records) if isinstance(records, Iterable) else [records]
        for record in records:
            if not isinstance(record, Mapping):
                raise SealError(
                    f"metrics are a list of records, but {record!r} is not one: give mappings with name, scope, period, value, "
                    "unit, source_kind and annualised; an undefined value is None."
                )
        self._metrics += [dict(record) for record in records]
        return self

    def add_description(self, description: Mapping[str, Any]) -> SealWriter:
        """Add the description of the alpha; raises SealError for anything but a mapping."""
        if not isinstance(description, Mapping):
            raise SealError(
                f"a description is a mapping such as {{'name': …, 'tldr': …}}, not {description!r}."
            )
        self._description = dict(description)
        return self

    def add_source(self, *paths: str | os.PathLike[str]) -> SealWriter:
        """Add files of the run's code, or folders of them, under their own names.

        Links are left out.

        Raises
        ------
        SealError
            If a path does not exist, or two different files have one name.
        """
        for path in map(Path, paths):
            if not path.exists():
                raise SealError(f"add_source: there is no file or folder {path}: correct the path.")
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file() and not file.is_symlink():
                    name = file.relative_to(path).as_posix() if path.is_dir() else file.name
                    content = file.read_bytes()
                    if self._source.setdefault(name, content) != content:
                        raise SealError(
                            f"add_source: {file} would replace another file named {name}: add the folder that holds both."
                        )
        return self

    def write(self, *, strict: bool = True) -> Path:
        """Derive missing columns, write and check all files, and complete the seal.

        The files are written next to the folder, checked there without a ``seal.json``, and moved into place together;
        ``seal.json`` follows last. An interruption never leaves an incomplete seal.

        Parameters
        ----------
        strict
            Also refuse a seal that the pipeline only warns about.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        SealRefused
            If a rule of the format is broken; only with the rules installed.
        SealError
            If the folder is not empty, or no table was added.
        OSError
            If the disk is full, read-only or failing; nothing is left in the folder.
        """
        folder = self._folder
        if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
            raise SealError(f"{folder} is not empty, and a seal is written once: name another folder.")
        tables = completed(self._tables, self._head["equity_basis"])
        tables = {kind: _sorted(kind, typed(kind, frame)) for kind, frame in tables.items()}
        if not tables:
            raise SealError("the seal has no tables: add a ledger or tables.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_name(f".{folder.name}.{uuid4().hex}.unfinished")
        unfinished.mkdir()
        try:
            manifest = self._write_files(unfinished, tables)
            if self._key is not None:
                _put(unfinished / "seal.dsse.json", sign_manifest(manifest, self._key))
            refused = pipeline_problems(unfinished, manifest, strict=strict)
            if refused:
                raise SealRefused(refused)
            # Before the move, so that a full disk leaves nothing behind.
            _put(unfinished / "seal.json.unfinished", manifest)
            os.replace(unfinished, folder)  # noqa: PTH105 -- over an empty folder, in one step
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        os.replace(folder / "seal.json.unfinished", folder / "seal.json")  # noqa: PTH105 -- as above
        return folder

    def _write_files(self, folder: Path, tables: Mapping[str, pl.DataFrame]) -> bytes:
        """Write all files except the manifest, and return the manifest's bytes."""
        kinds: dict[str, Any] = {}
        for kind, frame in tables.items():
            file = BytesIO()  # Polars reports a full disk as a damaged file
            frame.write_parquet(file, compression="zstd", statistics=True)
            kinds[kind] = {**_put(folder / f"{kind}.parquet", file.getvalue()), "rows": frame.height}
        documents = {
            "metrics": {"records": self._metrics},
            "description": self._description,
        }
        for kind, document in documents.items():
            if document is not None:
                kinds[kind] = _put(folder / f"{kind}.json", _json(document, kind))
        if self._source:
            files = {}
            for name, content in sorted(self._source.items()):
                path = folder / "source" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                files[name] = _put(path, content)["sha256"]
            kinds["source"] = {"path": "source/", "files": files}
        sealed_at = self._head["sealed_at"] or _instant("sealed_at", dt.datetime.now(dt.timezone.utc))
        return _json({**self._head, "sealed_at": sealed_at, "kinds": kinds}, "seal.json")


def _version() -> str:
    """Return the release of the distribution that installed this package: its own, or the project's."""
    installed = {x.metadata["Name"]: x.version for x in metadata.distributions()}
    return installed.get(_NAME) or installed.get("alpha-results") or "0"


def _sorted(kind: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Sort by the key; fills with the same instant and name keep their order."""
    key = KEYS[kind] or ("book", "timestamp", "symbol")
    return frame.sort(key, maintain_order=True) if set(key) <= set(frame.columns) else frame


def _json(document: Any, label: str) -> bytes:
    try:
        return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise SealError(f"{label} cannot be written as JSON: {error}") from error


def _put(path: Path, content: bytes) -> dict[str, Any]:
    """Write a file; return its entry in the manifest."""
    try:
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # a failed write names no file
    return {"path": path.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _instant(name: str, moment: dt.datetime) -> str:
    if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
        raise SealError(
            f"{name} is {moment!r}: give an instant with a time zone, such as datetime.now(timezone.utc)."
        )
    return moment.astimezone(dt.timezone.utc).isoformat().replace("+00:00", "Z")


def _smoothing(description: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not (description is None or isinstance(description, Mapping)):
        raise SealError(f"smoothing is {description!r}: give a mapping such as {{'applied': False}}.")
    defaults = {"half_life_weeks": None, "detail": None}
    return None if description is None else {**defaults, **description}
