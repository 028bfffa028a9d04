"""The figures of a metrics answer as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from alpha_results_client.declared import Column

_TEXTS = "unit status checked withheld_reason source source_kind signal annualisation sealed_unit sealed_convention"
FIGURE = (
    Column("period", "text", nullable=True),
    Column("name", "text"),
    Column("value", "float", nullable=True),
    Column("sealed_value", "float", nullable=True),
    *(Column(name, "text", nullable=True) for name in _TEXTS.split()),
)
"""The columns of the figures as a table."""


def metrics_rows(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return one row per figure of a metrics answer: those of the run, of its window, then of each period.

    A figure of the window is named ``within_window.core.ic``, that of the run ``core.ic``.
    """
    rows: list[Mapping[str, Any]] = []
    overall = {name: part for name, part in data.items() if name not in {"periods", "doc"}}
    rows += (_row(None, name, figure) for name, figure in _figures("", overall))
    for path, block in (("core", data), ("within_window.core", data.get("within_window") or {})):
        for period in block.get("periods") or ():
            rows += (_row(period["period"], name, figure) for name, figure in _figures(path, period["core"]))
    return rows


def _row(period: str | None, name: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    own = {"period": period, "name": name}
    return {column.name: own.get(column.name, figure.get(column.name)) for column in FIGURE}


def _figures(path: str, part: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(part, Mapping):
        return
    if "value" in part and "status" in part:
        yield path, part
        return
    for name, below in part.items():
        yield from _figures(f"{path}.{name}" if path else name, below)
