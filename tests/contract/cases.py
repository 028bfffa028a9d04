"""A request with data for each endpoint of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.metrics.families import FAMILIES
from tests.support.contract_app import FULL, PLAIN, UNDECIDED, ContractApp

WEEK: Final = "{week}"
KEY: Final = "{key}"


@dataclass(frozen=True)
class Case:
    """Values of an endpoint's placeholders and required parameters.

    Attributes
    ----------
    path
        Placeholder -> value. ``{week}`` stands for a week that was traded, ``{key}`` for the id of a key.
    query
        Required parameters.
    window
        Member of a row that holds its day, if the endpoint takes a window.
    order
        Members that determine the default order of rows, ascending.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    window: str | None = None
    order: tuple[str, ...] = ()


_ALPHA: Final = {"alpha": FULL}

CASES: Final[dict[str, Case]] = {
    "meta.health": Case(),
    "meta.me": Case(),
    "meta.keys": Case(),
    "catalog.alphas.list": Case(),
    "catalog.alphas.get": Case(_ALPHA),
    "catalog.alphas.source.download": Case(_ALPHA),
    "catalog.alphas.tables.list": Case(_ALPHA),
    "catalog.alphas.tables.download": Case({**_ALPHA, "table": "trades"}),
    "signals.rebalances.list": Case(_ALPHA, window="date", order=("date",)),
    "signals.rebalances.get": Case({**_ALPHA, "date": WEEK}),
    "signals.scores": Case(_ALPHA, window="date", order=("date", "symbol")),
    "portfolio.books": Case(_ALPHA),
    "portfolio.ledger": Case(_ALPHA, window="date", order=("date",)),
    "portfolio.positions": Case(_ALPHA, window="date", order=("date", "symbol")),
    "portfolio.pnl": Case(_ALPHA, window="date", order=("date", "symbol")),
    "portfolio.trades": Case(
        _ALPHA, {"book": "long_short"}, window="timestamp", order=("timestamp", "symbol")
    ),
    "portfolio.equity_curve": Case(_ALPHA, window="date", order=("date",)),
    "performance.metrics": Case(_ALPHA),
    "performance.metrics.doc": Case(_ALPHA),
    "performance.audit": Case(_ALPHA),
    "research.luck": Case(_ALPHA),
    **{family.endpoint: Case(_ALPHA) for family in FAMILIES.values()},
    "benchmarks.daily": Case({"symbol": "SPY"}, window="date", order=("date",)),
    "research.benchmarks": Case(),
    "research.neighbours": Case(_ALPHA),
    "research.correlations": Case({}, {"alphas": f"{FULL},{PLAIN}"}),
    "research.contribution": Case(_ALPHA, {"alphas": f"{PLAIN},{UNDECIDED}"}),
    "research.luck.catalogue": Case(),
    "research.regimes": Case(_ALPHA),
    "research.exposures": Case(_ALPHA),
    "research.screen": Case(),
    "research.changes": Case(),
    "research.snapshots.list": Case(_ALPHA),
    "research.snapshots.compare": Case(_ALPHA),
    "admin.alphas.list": Case(),
    "admin.alphas.readiness": Case(_ALPHA),
    "admin.keys.usage": Case({"key_id": KEY}),
}

COLLECTIONS: Final = tuple(e for e in ENDPOINTS.values() if e.shape is Shape.COLLECTION)
OF_AN_ALPHA: Final = tuple(e for e in ENDPOINTS.values() if e.allow_list is not AllowListScope.NONE)
OF_A_RUN: Final = tuple(e for e in OF_AN_ALPHA if e.datasets)
WINDOWED: Final = tuple(e for e in ENDPOINTS.values() if {"from", "to"} <= {p.name for p in e.query})


def every(endpoints: Any) -> pytest.MarkDecorator:
    """Run a test once for each of some endpoints."""
    return pytest.mark.parametrize("endpoint", list(endpoints), ids=lambda endpoint: endpoint.id)


def key_for(endpoint: Endpoint) -> str | None:
    """Return the name of a key that may call an endpoint with full access."""
    if endpoint.public:
        return None
    return "administrator" if endpoint.admin else "raw"


def arguments_of(api: ContractApp, endpoint: Endpoint, **changes: str) -> dict[str, Any]:
    """Return the arguments of an endpoint's request with data, with changes to its path."""
    filled = {"week": traded_week(api), "key": api.keys.ids["reader"]}
    path = {name: value.format(**filled) for name, value in CASES[endpoint.id].path.items()}
    return {"key": key_for(endpoint), **path, **changes}


def traded_week(api: ContractApp) -> str:
    """Return a week of the full alpha that was traded, near the middle of the run."""
    weeks = [row["date"] for row in _index(api) if row["week_status"] == "traded"]
    return str(weeks[len(weeks) // 2])


def pending_week(api: ContractApp) -> str:
    """Return the week of the full alpha that waits for its fills."""
    return next(str(row["date"]) for row in _index(api) if row["week_status"] == "pending")


_indexes: dict[int, list[dict[str, Any]]] = {}


def _index(api: ContractApp) -> list[dict[str, Any]]:
    if id(api) not in _indexes:
        _indexes[id(api)] = api.rows("signals.rebalances.list", alpha=FULL)
    return _indexes[id(api)]
