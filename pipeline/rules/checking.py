"""Application of all rules to one seal; all violations are reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import polars as pl

from pipeline.notices.evidence import Evidence, gather
from pipeline.notices.outcome import NoticeOutcome
from pipeline.notices.run_notices import Run, find_notices
from pipeline.reconciliation.figures import Figure, reconcile
from pipeline.reconciliation.seal_figures import measure_weeks, metrics_reproduced
from pipeline.reconciliation.tables import Tables
from pipeline.rule import Coverage, Level, Rule
from pipeline.rules.file_checks import CheckState, check_files
from pipeline.rules.in_parts import Undecided, apply_in_parts, read_columns
from pipeline.rules.registry import RULES
from pipeline.rules.report import Report
from pipeline.rules.return_rules import decisions_forward_return
from pipeline.seal import Seal
from pipeline.seal.records import METRICS
from pipeline.seal.seal import LARGE_KINDS
from pipeline.seal.signature import TeamKeys
from schemas.kinds import OPTIONAL_KINDS, TABLE_KINDS
from schemas.tables.pnl import ADJUSTMENTS

_TABLE_RULES: Final = [rule for rule in RULES.values() if rule.level is Level.TABLE]
_RUN_RULES: Final = [rule for rule in RULES.values() if rule.level is Level.RUN]


def check(
    seal: Seal,
    on_step: Callable[[str], None] | None = None,
    *,
    figures: bool = True,
    keys: TeamKeys | None = None,
    prices: str | None = None,
) -> Report:
    """Apply every rule to a seal.

    Parameters
    ----------
    seal
        An opened seal, whose manifest has passed ``seal.manifest``.
    on_step
        Called with the name of each file or rule before it is processed.
    figures
        Whether to recompute the run's own figures if every rule holds. A build does that later, from the weekly
        figures it publishes.
    keys
        Keys of teams, one of which must have signed the seal; None if no signature is required.
    prices
        Parquet file, or folder of Parquet files, with market prices that notices compare the run with; None for no comparison.

    Returns
    -------
    Report
        All broken rules, not only the first. A rule is skipped, and named in `not_checked`, when a kind it
        needs is not sealed or not intact, or a column it needs is missing, mistyped, not finite, or null where
        null is not allowed. The tables stay available through :meth:`pipeline.seal.Seal.table`.

    Raises
    ------
    SettingsError
        When the market prices cannot be used; the message names the file, the rule and the fix.
    StorageUnavailable
        When the store stops answering; the seal is then unchecked.
    """
    state, tables = _apply_rules(seal, on_step or (lambda _: None), keys)
    return _report(state, tables, figures=figures, prices=prices)


def _apply_rules(
    seal: Seal, on_step: Callable[[str], None], keys: TeamKeys | None
) -> tuple[CheckState, Tables]:
    """Apply every rule; return the outcomes, and the tables without unusable columns."""
    if seal.in_parts:
        with suppress(Undecided):
            return _apply_rules_in_parts(seal, on_step, keys)
    state = check_files(seal, on_step, keys)
    tables = Tables(state.frames, seal.equity_basis, seal.declared)
    for rule in _TABLE_RULES:
        for kind in _applicable_tables(state, rule):
            state.apply(rule, kind, tables)
    sound = tables.without(state.void)
    duplicate_keys = {finding.kind for finding in state.violations if finding.rule == "table.key"}
    for rule in _RUN_RULES:
        if _applies(state, rule, sound, duplicate_keys):
            state.apply(rule, sound)
    return state, sound


def _apply_rules_in_parts(
    seal: Seal, on_step: Callable[[str], None], keys: TeamKeys | None
) -> tuple[CheckState, Tables]:
    """Apply every rule without loading the large tables; raises Undecided unless all rules hold."""
    state = check_files(seal, on_step, keys, in_parts=True)
    tables = Tables(state.frames, seal.equity_basis, seal.declared)
    small = {kind: frame for kind, frame in state.frames.items() if kind not in LARGE_KINDS}
    for rule in _TABLE_RULES:
        for kind in _applicable_tables(state, rule):
            if kind in small:
                state.record(rule(kind, tables))
    run_rules = [rule for rule in _RUN_RULES if _applies(state, rule, tables, set())]
    if state.violations or state.void or state.unusable:
        raise Undecided
    on_step("the rows, part by part")
    warnings, coverage = apply_in_parts(seal, small, _TABLE_RULES, run_rules)
    for warning in warnings:
        state.record(warning)
    for id_, share in coverage.items():
        state.cover(RULES[id_], share)
    return state, tables


def _report(state: CheckState, tables: Tables, *, figures: bool, prices: str | None) -> Report:
    seal = state.seal
    recomputed: tuple[Figure, ...] = ()
    notices: tuple[NoticeOutcome, ...] = ()
    evidence = None if state.violations else _evidence(state, tables, prices)
    if figures and evidence is not None:
        state.on_step(metrics_reproduced.id)
        weeks = measure_weeks(seal)
        portfolio = seal.optional_table("portfolio")
        recomputed = reconcile(seal.metrics(), weeks, portfolio, seal.equity_basis)
        state.record(metrics_reproduced(recomputed))
        notices = judge(seal, evidence, state.coverage, weeks=weeks, figures=recomputed)
    elif figures and "metrics" in seal.kinds:
        state.skip(metrics_reproduced, "the seal is refused")
    order = {id_: place for place, id_ in enumerate(RULES)}
    return Report(
        address=seal.address,
        alpha_id=seal.alpha_id,
        sealed_by=state.sealed_by,
        violations=tuple(sorted(state.violations, key=lambda v: order[v.rule])),
        warnings=tuple(sorted(state.warnings, key=lambda v: order[v.rule])),
        not_checked=tuple(sorted(state.not_checked, key=lambda n: order[n.rule])),
        counts=state.counts,
        declared=seal.declared.to_dict(),
        figures=recomputed,
        adjusted=any(tables.has("pnl", name) for name in ADJUSTMENTS),
        coverage=state.coverage,
        notices=notices,
        evidence=None if figures else evidence,
    )


def _evidence(state: CheckState, tables: Tables, prices: str | None) -> Evidence:
    """Gather the evidence of the notices from the tables in memory, or part by part."""
    state.on_step("evidence for the notices")

    category = pl.Categorical(pl.Categories.random())

    def read(kind: str, columns: tuple[str, ...]) -> Iterable[Tables]:
        if not state.by_parts(kind):
            return (tables,)
        parts = read_columns(state.seal, kind, columns)
        return (Tables({kind: part}, category=category) for part in parts)

    return gather({kind: frame.columns for kind, frame in state.frames.items()}, read, prices)


def judge(
    seal: Seal,
    evidence: Evidence,
    coverage: Mapping[str, Coverage],
    *,
    weeks: pl.DataFrame | None,
    figures: tuple[Figure, ...],
) -> tuple[NoticeOutcome, ...]:
    """Apply the notices on a run's own figures to a sound seal.

    Parameters
    ----------
    evidence, coverage
        As in :class:`~pipeline.rules.report.Report`.
    weeks, figures
        As in :class:`~pipeline.notices.Run`.
    """
    proven = coverage.get(decisions_forward_return.id)
    portfolio = seal.optional_table("portfolio")
    outside = seal.declared.outside_turnover
    return find_notices(Run(seal.sealed_at, evidence, weeks, portfolio, proven, figures, outside))


def _applicable_tables(state: CheckState, rule: Rule[Any]) -> Iterator[str]:
    """Yield the tables of a rule; record the columns that it cannot check."""
    for kind in (*TABLE_KINDS, METRICS.name):
        sealed = "metrics" if kind == METRICS.name else kind
        if sealed in state.unusable:
            state.skip(rule, f"{sealed} {state.unusable[sealed]}")
        if kind not in state.frames:
            continue
        absent = {column: id_ for column, id_ in state.void.get(kind, {}).items() if id_ == "table.columns"}
        if absent:
            state.skip(rule, _voided(kind, absent))
        yield kind


def _applies(state: CheckState, rule: Rule[Any], tables: Tables, duplicate_keys: set[str]) -> bool:
    """Return whether a rule over several tables can be applied; record missing inputs, except optional tables."""
    if any(x in OPTIONAL_KINDS and not tables.has(x) and x not in state.unusable for x in rule.needs):
        return False
    missing = list(_missing(state, rule, tables, duplicate_keys))
    if missing:
        state.skip(rule, "; ".join(missing))
        return False
    for kind, columns in rule.uses.items():
        lost = {column: id_ for column, id_ in state.void.get(kind, {}).items() if column in columns}
        if not lost and tables.has(kind):
            continue
        reason = _voided(kind, lost) if lost else _absent(state, kind)
        # Rows that unusable adjustments explain would seem to be wrong.
        if (lost or kind in state.unusable) and not set(ADJUSTMENTS).isdisjoint(columns):
            state.skip(rule, reason)
            return False
        state.skip(rule, f"in part: {reason}")
    return True


def _missing(state: CheckState, rule: Rule[Any], tables: Tables, duplicate_keys: set[str]) -> Iterator[str]:
    """Yield the inputs of a rule that the seal lacks."""
    for kind, columns in rule.needs.items():
        lost = {column: id_ for column, id_ in state.void.get(kind, {}).items() if column in columns}
        if not tables.has(kind):
            yield _absent(state, kind)
        elif lost:
            yield _voided(kind, lost)
    for kind in rule.unique:
        if kind in duplicate_keys:
            yield f"{kind} failed table.key"


def _absent(state: CheckState, kind: str) -> str:
    return f"{kind} {state.unusable[kind]}" if kind in state.unusable else f"the run sealed no {kind}"


def _voided(kind: str, columns: dict[str, str]) -> str:
    return ", ".join(f"{kind}.{column} failed {id_}" for column, id_ in columns.items())
