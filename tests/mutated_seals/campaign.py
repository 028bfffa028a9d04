"""Applies every mutation to a copy of a valid seal, builds it in a process with little memory, and judges the outcome."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.layout import snapshot_path
from pipeline.batch.process import ALLOCATOR
from pipeline.rules import RULES
from pipeline.seal.casting import POLARS_TYPES
from schemas.tables import SEALED_TABLES
from schemas.tables.pnl import ADJUSTMENTS
from tests.mutated_seals.mutation import Fate, Mutation
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal, rewrite

SECONDS: Final = 240
"""Seconds allowed for one build, which takes half a second on an idle machine."""
ADDRESS_SPACE: Final = 4 << 30
PEAK_BYTES: Final = 1 << 30
"""Maximum memory of a build of any of these seals, as stated in docs/reliability.md."""
Answer = dict[str, Any]


@dataclass
class Tally:
    """Outcomes of the mutations."""

    outcomes: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    peak_bytes: int = 0
    slowest: tuple[float, str] = (0.0, "")

    def as_json(self) -> dict[str, Any]:
        return {
            "mutations": self.outcomes.total(),
            **dict(self.outcomes),
            "different rules broken": len(self.rules),
            "peak MB": self.peak_bytes // 10**6,
            "slowest": self.slowest,
        }


class Checker:
    """A process that builds seals one by one, each in a fork."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutated_seals.checker"],
            cwd=REPOSITORY,
            env=os.environ
            | ALLOCATOR
            | {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RUST_BACKTRACE": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def build(self, folder: Path) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            **{name: str(folder / name) for name in ("seal", "root", "archives", "complaints")},
            "seconds": SECONDS,
            "address_space": ADDRESS_SPACE,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: Answer = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Campaign:
    """Mutations of one valid seal.

    Parameters
    ----------
    folder
        For the seals, their roots and archives.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tally = Tally()
        template = make_seal(folder / "template", weeks=14, ranks=True, tried=(1.0, 4.0))
        # Gives it every column that a seal may have.
        rewrite(template, "pnl", lambda rows: rows.with_columns(**dict.fromkeys(ADJUSTMENTS, pl.lit(0.0))))
        # The same name everywhere, so that reports differ only by the mutation.
        (folder / "valid").mkdir()
        template.rename(folder / "valid" / "seal")
        checker = Checker()
        answer = checker.build(folder / "valid")
        checker.close()
        assert answer["outcome"] == "built", answer
        self._valid = _digests(folder / "valid", answer)

    def run(self, mutations: Iterable[Mutation]) -> None:
        """Apply them, in parallel on all cores."""
        checkers: Queue[Checker] = Queue()
        made = [Checker() for _ in range(os.cpu_count() or 1)]
        for checker in made:
            checkers.put(checker)

        def one(mutation: Mutation) -> tuple[Mutation, Answer, str | None]:
            checker = checkers.get()
            folder = self._folder / hashlib.sha256(mutation.name.encode()).hexdigest()[:16]
            try:
                shutil.copytree(self._folder / "valid" / "seal", folder / "seal")
                mutation.apply(folder / "seal")
                answer = checker.build(folder)
                return mutation, answer, self._judge(mutation, folder, answer)
            except Exception as error:  # noqa: BLE001 - reported with the name of the mutation, along with the others
                return mutation, {"outcome": "error"}, f"{type(error).__name__}: {error}"[:500]
            finally:
                checkers.put(checker)
                shutil.rmtree(folder, ignore_errors=True)

        try:
            with ThreadPoolExecutor(len(made)) as pool:
                for mutation, answer, fault in pool.map(one, mutations):
                    self._count(mutation, answer, fault)
        finally:
            for checker in made:
                checker.close()

    def _count(self, mutation: Mutation, answer: Answer, fault: str | None) -> None:
        tally = self.tally
        tally.outcomes[answer["outcome"]] += 1
        tally.rules.update({violation["rule"] for violation in answer.get("violations", ())})
        tally.peak_bytes = max(tally.peak_bytes, answer.get("peak_bytes", 0))
        tally.slowest = max(tally.slowest, (round(answer.get("seconds", 0.0), 1), mutation.name))
        if fault is not None:
            tally.faults.append(f"{mutation.name}: {fault}")

    def _judge(self, mutation: Mutation, folder: Path, answer: Answer) -> str | None:
        """Return the error in a mutation's outcome; None if correct."""
        expected, outcome = mutation.expected, answer["outcome"]
        if answer.get("peak_bytes", 0) > PEAK_BYTES:
            return f"took {answer['peak_bytes']:,} bytes"
        if outcome == "refused":
            if expected.fate not in {Fate.REFUSED, Fate.HONEST, Fate.ENDS}:
                return f"refused, yet valid: {answer['message']} {_short(answer['violations'])}"
            return _of_refusal(mutation, folder, answer)
        if outcome == "built":
            if expected.fate is Fate.REFUSED:
                return "published, though it breaks a rule"
            return self._of_publication(mutation, folder, answer)
        if outcome == "failed" and expected.fate is Fate.NO_SEAL and answer["error"] == "SealUnreadable":
            return _left(folder)
        if outcome == "died" and expected.fate is Fate.ENDS:
            return _left(folder)
        complaints = (
            (folder / "complaints").read_text(errors="replace") if (folder / "complaints").exists() else ""
        )
        return f"{outcome}: {answer.get('message', '')} {answer.get('exit_code')} {complaints[-300:]}"

    def _of_publication(self, mutation: Mutation, folder: Path, answer: Answer) -> str | None:
        if answer["check"] or answer["faults"]:
            return f"check says {answer['check']}, verify {answer['faults']}"
        if mutation.expected.fate is Fate.SAME and _digests(folder, answer) != self._valid:
            return "published other files than the unmutated seal"
        manifest = _manifest(folder, answer)
        for kind in SEALED_TABLES:
            if (fault := _differs(folder, answer, manifest, kind)) is not None:
                return fault
        return _of_archive(folder)


def _manifest(folder: Path, answer: Answer) -> Any:
    where = folder / "root" / snapshot_path(answer["alpha_id"], answer["snapshot"])
    return json.loads((where / "manifest.json").read_text())


def _digests(folder: Path, answer: Answer) -> dict[str, str]:
    """Return the digest of each published file."""
    return {file["path"]: file["sha256"] for file in _manifest(folder, answer)["files"]}


def _differs(folder: Path, answer: Answer, manifest: Any, kind: str) -> str | None:
    """Compare a published table with the seal as read by another library."""
    entry = json.loads((folder / "seal/seal.json").read_text())["kinds"].get(kind)
    where = folder / "root" / snapshot_path(answer["alpha_id"], answer["snapshot"])
    files = [file for file in manifest["files"] if file["dataset"] == kind]
    if entry is None:
        return f"{kind} is published and was not sealed" if files else None
    try:
        sealed = _read(folder / "seal" / entry["path"])
    except (pa.ArrowException, OSError):
        # The damage concerns only some readers, so the figures are those of the unmutated table.
        sealed = _read(folder.parent / "valid" / "seal" / f"{kind}.parquet")
    parts = []
    for file in files:
        part = _read(where / file["path"])
        book = [] if file["book"] is None else [pl.lit(file["book"]).alias("book")]
        parts.append(part.with_columns(book).rename({"raw_score": "unsmoothed_score"}, strict=False))
    if not parts:
        return f"{sealed.height} rows of {kind} were sealed and none published" if sealed.height else None
    published = pl.concat(parts)
    columns = [
        c for c in SEALED_TABLES[kind].sealed_columns if {c.name} <= {*published.columns} & {*sealed.columns}
    ]
    lost = {c.name for c in SEALED_TABLES[kind].sealed_columns if c.published} & {*sealed.columns}
    lost -= {column.name for column in columns} | {"unsmoothed_score"}
    chosen = [pl.col(column.name).cast(POLARS_TYPES[column.type]) for column in columns]
    names = [column.name for column in columns]
    same = sealed.select(chosen).sort(names).equals(published.select(chosen).sort(names))
    if lost or not same:
        return f"{kind} is published otherwise than it was sealed {sorted(lost)}"
    return None


def _read(path: Path) -> pl.DataFrame:
    read = pl.from_arrow(pq.read_table(pa.BufferReader(path.read_bytes())))
    assert isinstance(read, pl.DataFrame)
    return read


def _of_refusal(mutation: Mutation, folder: Path, answer: Answer) -> str | None:
    violations = answer["violations"]
    if not violations:
        return "refused without a rule"
    for violation in violations:
        rule = RULES.get(violation["rule"])
        if rule is None or not (violation["file"] and violation["message"] and violation["remedy"]):
            return f"a violation without rule, file, message or fix: {violation}"
    expected = mutation.expected
    if expected.rules:
        fitting = [violation for violation in violations if violation["rule"] in expected.rules]
        if not any(expected.shows in json.dumps(violation, ensure_ascii=False) for violation in fitting):
            return f"expected {expected.rules} naming {expected.shows!r}, found {_short(violations)}"
    return _left(folder)


def _left(folder: Path) -> str | None:
    """Return a file that a refused build left behind."""
    left = [path for name in ("root", "archives") for path in (folder / name).rglob("*") if path.is_file()]
    return f"left {left}" if left else None


def _of_archive(folder: Path) -> str | None:
    """Compare the source archive with the declared files."""
    source = json.loads((folder / "seal/seal.json").read_text())["kinds"].get("source")
    declared = {} if source is None else source["files"]
    archives = list((folder / "archives").rglob("*.zip"))
    if not archives:
        return "no archive of the source was delivered" if declared else None
    with zipfile.ZipFile(archives[0]) as archive:
        names = archive.namelist()
        results = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}
    if len(results) < len(names) or results.items() - {k: v.lower() for k, v in declared.items()}.items():
        return "the archive holds what was not declared"
    return None


def _short(violations: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{violation['rule']} of {violation['file']}: {violation['message']}" for violation in violations
    )[:600]
