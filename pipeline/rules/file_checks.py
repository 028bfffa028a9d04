"""Rules on the files of a seal, and the state of its check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from pipeline.internal import contained
from pipeline.rule import Coverage, Finding, NotChecked, Rule
from pipeline.rules.registry import RULES
from pipeline.seal import Seal
from pipeline.seal.document_rules import (
    DESCRIPTION_CROSS_CHECKS,
    compare_description,
    description_extra,
    description_object,
    description_shape,
)
from pipeline.seal.file_rules import (
    FileFact,
    seal_clock,
    seal_digest,
    seal_path,
    seal_signature,
    seal_size,
    seal_unknown,
    table_columns,
    table_extra,
)
from pipeline.seal.records import METRICS, metrics_record
from pipeline.seal.seal import LARGE_KINDS
from pipeline.seal.signature import TeamKeys, Unsigned
from pipeline.seal.strict_json import NotJson
from schemas.kinds import KINDS, TABLE_KINDS

_READERS: Final = 8
"""Threads that read and hash: hashing releases the GIL, and object stores have high latency."""
_DOCUMENT_RULES: Final[dict[str, tuple[Rule[Any], ...]]] = {
    "metrics": (metrics_record,),
    "description": (description_object, description_shape, description_extra, *DESCRIPTION_CROSS_CHECKS),
}
"""Kind -> rules on its document."""


@dataclass(slots=True)
class CheckState:
    """State of the check of one seal."""

    seal: Seal
    on_step: Callable[[str], None]
    in_parts: bool = False
    """Whether the rows of large tables are checked part by part."""
    violations: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    """Kind -> reason why its rows are not checked."""
    sealed_by: str | None = None
    """The team that signed the seal, if a signature is required."""
    void: dict[str, dict[str, str]] = field(default_factory=dict)
    """Kind -> column -> the broken rule that makes its values unusable."""
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)

    def record(self, finding: Finding | None) -> bool:
        """Record a finding under the sealed path of its file; return whether there is one."""
        if finding is None:
            return False
        kind = "metrics" if finding.kind == METRICS.name else finding.kind
        if kind in self.seal.kinds:
            finding = replace(finding, file=self.seal.kinds[kind].path or finding.file)
        rule = RULES[finding.rule]
        (self.warnings if rule.warns else self.violations).append(finding)
        if rule.voids:
            for column in finding.columns:
                self.void.setdefault(finding.kind, {}).setdefault(column, rule.id)
        return True

    def apply(self, rule: Rule[Any], *arguments: Any) -> None:
        """Apply a rule, and record its outcome."""
        self.on_step(rule.id)
        with contained(f"the rule {rule.id}"):
            finding, coverage = rule.apply(*arguments)
        self.record(finding)
        if coverage is not None:
            self.cover(rule, coverage)

    def cover(self, rule: Rule[Any], coverage: Coverage) -> None:
        """Record the share of rows that a rule could compare."""
        self.coverage[rule.id] = coverage
        if coverage.reason is not None:
            self.skip(rule, coverage.reason)

    def by_parts(self, kind: str) -> bool:
        """Return whether the rows of a kind are checked part by part."""
        return self.in_parts and kind in LARGE_KINDS

    def skip(self, rule: Rule[Any], reason: str) -> None:
        """Record that a rule was not checked, and why."""
        self.not_checked.append(NotChecked(rule.id, reason))

    def skip_all(self, rules: Iterable[Rule[Any]], reason: str) -> None:
        """Record that rules were not checked, and why."""
        for rule in rules:
            self.skip(rule, reason)

    def leave_out(self, kind: str, broken: str) -> None:
        """Record that a kind is not read because its file broke a rule, and that the rules on its document are not checked."""
        self.unusable[kind] = f"failed {broken}"
        self.skip_all(_DOCUMENT_RULES.get(kind, ()), f"{kind} failed {broken}")


def check_files(
    seal: Seal, on_step: Callable[[str], None], keys: TeamKeys | None, *, in_parts: bool = False
) -> CheckState:
    """Read the files and apply the rules on files."""
    state = CheckState(seal, on_step, in_parts=in_parts)
    if keys is not None:
        try:
            state.sealed_by = seal.signed_by(keys)
        except Unsigned as error:
            state.record(seal_signature(str(error)))
    unknown = tuple(kind for kind in seal.kinds if kind not in KINDS)
    state.record(seal_unknown(seal.unknown_keys, unknown))
    times = {"started_at": seal.started_at, "sealed_at": seal.sealed_at}
    state.record(seal_clock(times, datetime.now(UTC)))
    _read_files(state)
    return state


def _read_files(state: CheckState) -> None:
    """Read, hash and decode every file, several at a time; violations are recorded in a fixed order."""
    seal = state.seal
    safe = []
    for kind in seal.kinds:
        if state.record(seal_path(kind, seal.path_faults(kind))):
            state.leave_out(kind, "seal.path")
        else:
            safe.append(kind)
    with ThreadPoolExecutor(_READERS, thread_name_prefix="seal") as pool:
        reading = {kind: pool.submit(_read, state, kind) for kind in safe}
        # Small files first: large files are hashed while small ones are decoded.
        for kind in sorted(safe, key=lambda kind: seal.kinds[kind].bytes or 0):
            state.on_step(seal.kinds[kind].path)
            facts = reading[kind].result()
            broken = seal_size(kind, facts) or seal_digest(kind, facts)
            if broken is None:
                _decode(state, kind)
            else:
                state.record(broken)
                state.leave_out(kind, broken.rule)
            if kind not in KINDS:
                seal.drop(kind)


def _read(state: CheckState, kind: str) -> tuple[FileFact, ...]:
    facts = state.seal.files(kind)
    if kind in TABLE_KINDS and seal_digest(kind, facts) is None and not state.by_parts(kind):
        state.seal.decode(kind)  # cached by the seal
    return facts


def _decode(state: CheckState, kind: str) -> None:
    seal = state.seal
    if kind in TABLE_KINDS:
        facts = seal.files(kind)
        decoded = seal.part(kind, range(0)) if state.by_parts(kind) else seal.decode(kind)
        state.record(seal_digest(kind, [replace(fact, actual_rows=decoded.rows) for fact in facts]))
        state.record(table_columns(kind, decoded.rows or 0, decoded.problems))
        state.record(table_extra(kind, decoded.extra))
        if decoded.rows is None:
            state.unusable[kind] = "failed table.columns"
        else:
            state.counts[kind] = decoded.rows
            state.frames[kind] = decoded.frame
    elif kind == "metrics":
        records = seal.records()
        state.record(metrics_record(records))
        state.record(table_extra(METRICS.name, records.extra))
        state.counts[kind] = records.frame.height
        state.frames[METRICS.name] = records.frame
    elif kind == "description":
        _check_description(state)


def _check_description(state: CheckState) -> None:
    """Apply the rules on the description, each only if the previous ones hold."""
    try:
        document = state.seal.parsed_description()
    except NotJson as error:
        state.record(description_object(error))
        _, *others = _DOCUMENT_RULES["description"]
        state.skip_all(others, "description failed description.object")
        return
    shape = compare_description(document)
    state.record(description_extra(shape))
    if state.record(description_shape(shape)):
        state.skip_all(DESCRIPTION_CROSS_CHECKS, "description failed description.shape")
        return
    for rule in DESCRIPTION_CROSS_CHECKS:
        state.record(rule(document))
