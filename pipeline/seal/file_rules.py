"""The rules on the manifest and on files, checked before any row is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pipeline.rule import MAX_EXAMPLES, Finding, file_rule, limited
from pipeline.seal.casting import CastProblem
from pipeline.seal.dtype_messages import nearest
from pipeline.seal.shape import ShapeProblem, short_value
from schemas.instants import utc_text
from schemas.kinds import (
    CLOCK_SKEW,
    EARLIEST,
    EXPANSION,
    FREE_BYTES,
    KINDS,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_KEYS,
    MAX_ROWS,
)
from schemas.tables import TABLES

OTHER_BYTES: Final = 2**33
"""Maximum bytes of a file of an unknown kind."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """One file as declared and as read.

    Attributes
    ----------
    path
        Relative to the seal.
    sha256, bytes, rows
        As declared; `bytes` and `rows` are None where the manifest declares none.
    limit
        Maximum bytes of a file of its kind; a larger file is not read.
    actual_sha256, actual_bytes
        As read; None when there is no such file.
    actual_rows
        Rows of the table; None if it is not a table, or not decoded yet.
    """

    path: str
    sha256: str
    bytes: int | None
    rows: int | None
    limit: int
    actual_sha256: str | None = None
    actual_bytes: int | None = None
    actual_rows: int | None = None

    @property
    def too_large(self) -> bool:
        """Whether its actual or declared size, or its declared number of rows, exceeds the maximum."""
        return max(self.bytes or 0, self.actual_bytes or 0) > self.limit or (self.rows or 0) > MAX_ROWS


@file_rule(
    "seal.manifest",
    f"seal.json is a JSON object of at most {MAX_KEYS['seal']:,} keys and {MAX_DEPTH} levels, every key has its type, and its "
    "version is one this pipeline reads.",
    "Let the engine write seal.json again, after all other files, with the keys and types of seal format 1.",
)
def seal_manifest(problems: Sequence[ShapeProblem]) -> Finding | None:
    """Report the invalid keys of a manifest; one row is one key."""
    return shape_finding("seal", "key", problems)


def shape_finding(kind: str, part: str, problems: Sequence[ShapeProblem]) -> Finding | None:
    """Report the parts of a document that differ from its declaration; `part` names them in the examples."""
    if not problems:
        return None
    examples = tuple(
        {part: problem.key, "found": short_value(problem.value), "expected": problem.expected}
        for problem in limited(problems)
    )
    first = problems[0]
    return Finding(kind, len(problems), examples, f"{first.key} must be {first.expected}")


@file_rule(
    "seal.unknown",
    "The manifest names only keys and kinds of seal format 1; others are checked against their digest and not read.",
    "None if it belongs to a later format; otherwise correct the spelling of the key or kind.",
    warns=True,
)
def seal_unknown(keys: Sequence[str], kinds: Sequence[str]) -> Finding | None:
    """Warn of unknown keys and kinds of the manifest."""
    named = [*keys, *(f"kinds.{kind}" for kind in kinds)]
    if not named:
        return None
    examples, shown = _undeclared("key", named, {f"kinds.{kind}": nearest(kind, KINDS) for kind in kinds})
    return Finding("seal", len(named), examples, f"{shown} unknown")


@file_rule(
    "seal.signature",
    "If the deployment lists keys of teams, seal.dsse.json holds a signature of this seal.json by one of them.",
    "Sign the seal with a key of the team (`alpha-results-seal sign`) before builds can find it; or have the "
    "team's public key added to the deployment's file.",
)
def seal_signature(fault: str) -> Finding:
    """Report a seal that no known team signed."""
    return Finding("seal", 1, ({"fault": fault},), fault)


@file_rule(
    "seal.clock",
    f"started_at and sealed_at lie between {EARLIEST:%Y-%m-%d} and the time of the check; they may be at most "
    f"{CLOCK_SKEW.total_seconds() / 60:.0f} minutes ahead of the clock of the check.",
    "Set the clock of the machine that seals, and let the engine seal the run again; of two seals of an alpha the later "
    "one is served, so a time in the future would hide every seal until then.",
)
def seal_clock(times: Mapping[str, datetime], now: datetime) -> Finding | None:
    """Report impossible times of a manifest; one row is one time."""
    broken = {name: moment for name, moment in times.items() if not EARLIEST <= moment <= now + CLOCK_SKEW}
    if not broken:
        return None
    checked_at = utc_text(now, "seconds")
    examples = tuple(
        {"key": name, "found": utc_text(moment, "seconds"), "now": checked_at}
        for name, moment in broken.items()
    )
    name, moment = next(iter(broken.items()))
    when = "in the future" if moment > now else "too early to be true"
    return Finding("seal", len(broken), examples, f"{name} is {utc_text(moment, 'seconds')}, which is {when}")


@file_rule(
    "seal.path",
    "Every declared path stays inside the seal (relative, without '..' and without links) and names a file, if it exists.",
    "Write the files into the seal itself and declare each by a plain relative path.",
)
def seal_path(kind: str, faults: Mapping[str, str]) -> Finding | None:
    """Report the declared paths of a kind that leave the seal, by path with the reason; one row is one path."""
    if not faults:
        return None
    examples = [{"path": short_value(path), "fault": fault} for path, fault in faults.items()]
    first = examples[0]
    message = f"the path {first['path']!r} cannot be followed: {first['fault']}"
    return Finding(kind, len(faults), limited(examples), message)


_LIMITS: Final = ", ".join(f"{kind} {limit // 2**20:,} MiB" for kind, limit in MAX_BYTES.items())


@file_rule(
    "seal.size",
    f"No file is larger than its kind may be ({_LIMITS}; of source, each file; of other kinds {OTHER_BYTES // 2**20:,} "
    f"MiB), and no table is declared to have more than {MAX_ROWS:,} rows.",
    "Split the run, or leave out data that does not belong to the kind; a manifest names files and does not contain them.",
)
def seal_size(kind: str, facts: Sequence[FileFact]) -> Finding | None:
    """Report the files of a kind that are too large to be read; one row is one file."""
    broken = [fact for fact in facts if fact.too_large]
    if not broken:
        return None
    examples = tuple(
        {
            "path": short_value(fact.path),
            "bytes": short_value(fact.actual_bytes or fact.bytes),
            "limit": fact.limit,
        }
        | ({"rows": short_value(fact.rows), "limit": MAX_ROWS} if (fact.rows or 0) > MAX_ROWS else {})
        for fact in limited(broken)
    )
    return Finding(kind, len(broken), examples, f"{short_value(broken[0].path)} is too large to be read")


@file_rule(
    "seal.digest",
    "Every declared file exists and has the declared size, SHA-256 and number of rows.",
    "Copy the complete seal again; if that does not help, let the engine seal the run again: a seal is never edited.",
)
def seal_digest(kind: str, facts: Sequence[FileFact]) -> Finding | None:
    """Report the files of a kind that differ from their declaration; one row is one file."""
    broken = [(fact, differences) for fact in facts if (differences := dict(_differences(fact)))]
    if not broken:
        return None
    examples = tuple({"path": fact.path} | differences for fact, differences in limited(broken))
    fact, differences = broken[0]
    what = "does not exist" if "missing" in differences else f"differs in {' and '.join(differences)}"
    return Finding(kind, len(broken), examples, f"{fact.path} {what}")


@file_rule(
    "table.columns",
    "The file is Parquet, the numbers of its footer agree with each other, and it unpacks to at most "
    f"{FREE_BYTES // 2**20} MiB, or {EXPANSION} times its bytes where that is more; its required columns are there, and "
    "every declared column has its type "
    "(lossless casts are applied: whole numbers to doubles up to 2**53, timestamps at midnight to dates, "
    "aware timestamps of any precision to UTC microseconds if no digits are lost, dictionary codes to text).",
    "Write a Parquet file with the named columns in their declared types; instants need a zone (Parquet isAdjustedToUTC).",
    voids=True,
)
def table_columns(kind: str, rows: int, problems: Sequence[CastProblem]) -> Finding | None:
    """Report missing and mistyped columns of a table; a column of the wrong type breaks all its rows."""
    if not problems:
        return None
    examples: tuple[Mapping[str, Any], ...] = tuple(
        {"column": problem.column, "found": problem.stored, "expected": problem.expected}
        | ({"rows": problem.rows, "values": list(problem.examples)} if problem.rows else {})
        | ({"fix": problem.fix} if problem.fix else {})
        for problem in limited(problems)
    )
    broken = max(problem.rows or rows for problem in problems)
    message = "; ".join(_mistyped(problem) for problem in problems[:MAX_EXAMPLES])
    return Finding(kind, broken, examples, message, tuple(problem.column for problem in problems))


@file_rule(
    "table.extra",
    "A file holds only declared columns (metrics.json only declared fields); others are dropped.",
    "None if the column is the engine's own; otherwise correct its spelling.",
    warns=True,
)
def table_extra(kind: str, names: Sequence[str]) -> Finding | None:
    """Warn of columns or fields that are not declared; one row is one of them."""
    if not names:
        return None
    declared = [column.name for column in TABLES[kind].sealed_columns]
    examples, shown = _undeclared("column", names, {name: nearest(name, declared) for name in limited(names)})
    return Finding(kind, len(names), examples, f"not declared and dropped: {shown}")


def _undeclared(
    key: str, names: Sequence[str], similar: Mapping[str, str | None]
) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """Return undeclared names, with similar declared ones, as examples and as text."""
    examples = tuple(
        {key: short_value(name)} | ({"did_you_mean": similar[name]} if similar.get(name) else {})
        for name in limited(names)
    )
    texts = (
        short_value(name) + (f" (did you mean {similar[name]}?)" if similar.get(name) else "")
        for name in names[:MAX_EXAMPLES]
    )
    return examples, ", ".join(texts)


def _mistyped(problem: CastProblem) -> str:
    """Describe the fault of a column, with the fix if known."""
    if problem.stored == "absent":
        fault = f"{problem.column} is absent"
    else:
        fault = f"{problem.column} is {problem.stored}, not {problem.expected}"
    return f"{fault}: {problem.fix}" if problem.fix else fault


def _differences(fact: FileFact) -> Iterator[tuple[str, Any]]:
    if fact.actual_sha256 is None:
        yield "missing", True
        return
    if fact.bytes is not None and fact.actual_bytes != fact.bytes:
        yield "bytes", {"expected": fact.bytes, "actual": fact.actual_bytes}
    if fact.actual_sha256 != fact.sha256:
        yield "sha256", {"expected": fact.sha256, "actual": fact.actual_sha256}
    if fact.actual_rows is not None and fact.rows is not None and fact.actual_rows != fact.rows:
        yield "rows", {"expected": fact.rows, "actual": fact.actual_rows}
