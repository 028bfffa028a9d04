"""Every rule by id, in the order of the checks and of the reports."""

from __future__ import annotations

from typing import Any, Final

from pipeline.reconciliation import seal_figures
from pipeline.rule import Rule
from pipeline.rules import (
    book_rules,
    fill_rules,
    holding_rules,
    ledger_rules,
    price_rules,
    return_rules,
    selection_rules,
    table_rules,
    target_rules,
    trade_rules,
    trial_rules,
    week_rules,
)
from pipeline.seal import document_rules, file_rules, records

_MODULES: Final = (
    file_rules,
    table_rules,
    week_rules,
    ledger_rules,
    holding_rules,
    trade_rules,
    trial_rules,
    fill_rules,
    book_rules,
    target_rules,
    price_rules,
    return_rules,
    selection_rules,
    records,
    seal_figures,
    document_rules,
)
"""Modules in the order of the checks; the rules of a module are checked in the order of their definition."""

RULES: Final[dict[str, Rule[Any]]] = {
    member.id: member
    for module in _MODULES
    for member in vars(module).values()
    if isinstance(member, Rule) and member.body.__module__ == module.__name__
}
"""Rule id -> rule."""
