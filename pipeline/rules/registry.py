"""Every rule by id, in the order of the checks and of the reports."""

from __future__ import annotations

from typing import Any, Final

from pipeline.reconciliation import of_a_seal
from pipeline.rule import Rule
from pipeline.rules import (
    book_rules,
    fill_rules,
    holding_rules,
    ledger_rules,
    table_rules,
    target_rules,
    trade_rules,
    trial_rules,
    week_rules,
)
from pipeline.seal import document_rules, file_rules

_ALL: Final[tuple[Rule[Any], ...]] = (
    file_rules.seal_manifest,
    file_rules.seal_unknown,
    file_rules.seal_clock,
    file_rules.seal_path,
    file_rules.seal_size,
    file_rules.seal_digest,
    file_rules.table_columns,
    file_rules.table_extra,
    table_rules.table_finite,
    table_rules.table_null,
    table_rules.table_key,
    table_rules.table_vocabulary,
    table_rules.table_bound,
    week_rules.rebalances_status,
    week_rules.decisions_week,
    week_rules.decisions_untradeable,
    week_rules.decisions_pending,
    week_rules.decisions_long_only,
    week_rules.decisions_rank,
    week_rules.decisions_rank_order,
    ledger_rules.portfolio_timestamp,
    ledger_rules.portfolio_identity,
    ledger_rules.portfolio_cash,
    ledger_rules.portfolio_continuity,
    ledger_rules.portfolio_signs,
    holding_rules.positions_notional,
    holding_rules.positions_weight,
    holding_rules.positions_total,
    holding_rules.pnl_total,
    trade_rules.trades_session,
    trade_rules.trades_reasons,
    trial_rules.trials_days,
    fill_rules.trades_cost,
    fill_rules.trades_decision,
    fill_rules.positions_fills,
    fill_rules.pnl_market,
    fill_rules.pnl_execution_cost,
    fill_rules.pnl_borrow,
    book_rules.portfolio_cash_start,
    book_rules.portfolio_cash_flow,
    book_rules.portfolio_execution_cost,
    book_rules.portfolio_rounding,
    book_rules.portfolio_carry,
    book_rules.portfolio_exposure,
    book_rules.portfolio_turnover_notional,
    book_rules.portfolio_turnover,
    target_rules.decisions_target,
    target_rules.decisions_fill_at,
    document_rules.metrics_record,
    of_a_seal.metrics_reproduced,
    document_rules.description_object,
    document_rules.description_shape,
    document_rules.description_extra,
    document_rules.description_seed,
    document_rules.description_history,
)

RULES: Final[dict[str, Rule[Any]]] = {entry.id: entry for entry in _ALL}
"""Rule id -> rule."""
