"""The tools: each answers a question of docs/answers.md with at most three calls of ``/v1``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import quote, urlencode

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from schemas.endpoints import ENDPOINTS
from schemas.metrics.headline import HEADLINE
from schemas.parameters import MAX_PAGE
from serve.agents.answer import find_units, fit

Alpha: TypeAlias = Annotated[str, Field(description="Address of the alpha, as `find` lists it.")]
Book: TypeAlias = Annotated[str, Field(description="Book of the run, such as long_short or long_only.")]
Day: TypeAlias = Annotated[str, Field(description="Day as YYYY-MM-DD.")]
_FIRST: Final = ("information_ratio", "icir", "ic", "max_drawdown_pct")
"""Figures that `find` and `compare` show."""
_NAMES: Final = 10
"""Names at each end of a cross-section."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an endpoint.

    Attributes
    ----------
    endpoint
        Its id in the registry.
    path, query
        Values of the path's placeholders and of the query; a query value of None is left out.
    """

    endpoint: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> tuple[str, str]:
        """The path and the query string, encoded."""
        path = ENDPOINTS[self.endpoint].path
        for name, value in self.path.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return path, urlencode({name: value for name, value in self.query.items() if value is not None})

    @property
    def address(self) -> str:
        """The URL of the call, relative to the service."""
        path, query = self.target
        return f"GET {path}?{query}" if query else f"GET {path}"


CallEndpoint: TypeAlias = Callable[[Call], Awaitable[tuple[int, Any]]]
"""Makes a call with the key of the current request, and returns the status and the body."""


def _checks(audit: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of an audit and its outcomes other than `pass`."""
    outcomes = [
        {name: entry[name] for name in ("kind", "id", "status", "value", "threshold", "unit", "reason")}
        for entry in audit["entries"]
        if entry["status"] in {"notice", "withheld"}
    ]
    unchecked = sorted({entry["id"] for entry in audit["entries"] if entry["status"] == "not_checked"})
    return {"summary": audit["summary"], "outcomes": outcomes, "not_checked": unchecked}


def _figures(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the core figures of the metrics, each with unit, `checked` and, if withheld, the reason; and the tenure."""
    shown = ("value", "unit", "status", "checked", "withheld_reason", "annualisation")
    core = {
        name: {key: entry[key] for key in shown if entry.get(key) is not None} if "value" in entry else entry
        for name, entry in metrics["core"].items()
        if isinstance(entry, dict)
    }
    return {
        "core": core,
        **{name: metrics[name] for name in ("window", "sessions_per_year") if name in metrics},
    }


_SUMMARISERS: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "performance.audit": _checks,
    "performance.metrics": _figures,
}


class Tools:
    """The tools of one server.

    Parameters
    ----------
    call_endpoint
        Makes a call with the key of the current request.
    """

    def __init__(self, call_endpoint: CallEndpoint) -> None:
        self._call = call_endpoint

    @property
    def all(self) -> list[Callable[..., Awaitable[str]]]:
        """All tools; agents see their names, parameters and docstrings."""
        return [getattr(self, name) for name in vars(Tools) if name != "all" and not name.startswith("_")]

    async def find(
        self,
        search: Annotated[str | None, Field(description="Text of id, name or summary.")] = None,
        tag: Annotated[str | None, Field(description="Tag of the written description.")] = None,
        sort: Annotated[
            str, Field(description=f"Figure to sort by, `-` before it for descending: {', '.join(HEADLINE)}.")
        ] = "-information_ratio",
        minimum: Annotated[
            dict[str, float] | None, Field(description='Minimum value by figure, such as {"icir": 1.0}.')
        ] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> str:
        """Find alphas worth a look: the list this key may read, sorted and filtered by figures of the metrics."""
        bounds = {f"min_{name}": value for name, value in (minimum or {}).items()}
        figure = sort.lstrip("-")
        shown = ",".join(dict.fromkeys((*_FIRST, figure) if figure in HEADLINE else _FIRST))
        query = {"search": search, "tag": tag, "sort": sort, "fields": shown, "limit": limit, **bounds}
        return await self._answer(alphas=Call("research.screen", query=query))

    async def describe(self, alpha: Alpha) -> str:
        """Describe an alpha: its hypothesis and mechanism, the checks of its run, and its snapshots."""
        return await self._answer(
            audit=Call("performance.audit", {"alpha": alpha}),
            description=Call("catalog.alphas.get", {"alpha": alpha}),
            snapshots=Call("research.snapshots.list", {"alpha": alpha}, {"limit": 3}),
        )

    async def compare(
        self,
        alphas: Annotated[list[str], Field(min_length=2, max_length=10, description="Addresses of alphas.")],
        by: Annotated[
            Literal["returns", "scores", "holdings"], Field(description="The series to correlate.")
        ] = "returns",
    ) -> str:
        """Compare alphas: whether they are the same signal, and what the first would add to the others."""
        others = {"alphas": ",".join(alphas[1:])}
        return await self._answer(
            correlations=Call("research.correlations", query={"alphas": ",".join(alphas), "by": by}),
            contribution_of_the_first=Call("research.contribution", {"alpha": alphas[0]}, others),
        )

    async def judge(self, alpha: Alpha) -> str:
        """Judge an alpha: its checks first, then its metrics, then how much of them may be luck."""
        return await self._answer(
            audit=Call("performance.audit", {"alpha": alpha}),
            metrics=Call("performance.metrics", {"alpha": alpha}),
            luck=Call("research.luck", {"alpha": alpha}),
        )

    async def explain_week(
        self,
        alpha: Alpha,
        date: Annotated[
            str, Field(description="Decision date of the week, YYYY-MM-DD, as in the rebalances.")
        ],
    ) -> str:
        """Explain a week: its status, and the names with the highest and lowest scores, with weights and forward returns."""
        path = {"alpha": alpha, "date": date}
        return await self._answer(
            week=Call("signals.rebalances.list", {"alpha": alpha}, {"from": date, "to": date}),
            highest=Call("signals.rebalances.get", path, {"order": "desc", "limit": _NAMES}),
            lowest=Call("signals.rebalances.get", path, {"order": "asc", "limit": _NAMES}),
        )

    async def positions(self, alpha: Alpha, date: Day, book: Book = "long_short") -> str:
        """List the positions of a day by name, with the ledger of that day."""
        day = {"from": date, "to": date, "book": book}
        return await self._answer(
            ledger=Call("portfolio.ledger", {"alpha": alpha}, day),
            positions=Call("portfolio.positions", {"alpha": alpha}, {**day, "limit": MAX_PAGE}),
        )

    async def performance(
        self,
        alpha: Alpha,
        book: Book = "long_short",
        start: Annotated[
            str | None, Field(description="First day, YYYY-MM-DD; the run's when left out.")
        ] = None,
        end: Annotated[
            str | None, Field(description="Last day, YYYY-MM-DD; the run's when left out.")
        ] = None,
    ) -> str:
        """Show how a book did over a window: its return, equity and deepest drawdown, in `summary`."""
        query = {"from": start, "to": end, "book": book, "limit": 1}
        return await self._answer(equity=Call("portfolio.equity_curve", {"alpha": alpha}, query))

    async def luck(
        self,
        alpha: Alpha,
        trials: Annotated[
            int | None,
            Field(ge=1, description="Variants tried, if known; by default the number that the run sealed."),
        ] = None,
    ) -> str:
        """Compare a record with chance: deflated Sharpe ratio, minimum track record, overfitting, bands."""
        return await self._answer(luck=Call("research.luck", {"alpha": alpha}, {"trials": trials}))

    async def risk(self, alpha: Alpha, book: Book = "long_short") -> str:
        """Show the risk of a book: its deepest drawdowns, tails, and rolling ratios."""
        return await self._answer(risk=Call("research.risk", {"alpha": alpha}, {"book": book}))

    async def costs(self, alpha: Alpha, book: Book = "long_short") -> str:
        """Show the trading costs of a book, its break-even costs, and its Sharpe ratio at other costs."""
        return await self._answer(costs=Call("research.costs", {"alpha": alpha}, {"book": book}))

    async def exposures(self, alpha: Alpha, book: Book = "long_short") -> str:
        """Show the exposures of a book: alpha and betas to benchmarks and factors, and the attribution to each."""
        return await self._answer(exposures=Call("research.exposures", {"alpha": alpha}, {"book": book}))

    async def changes(
        self,
        since: Annotated[str | None, Field(description="The `next` of an earlier answer.")] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
    ) -> str:
        """List publications, replacements, rollbacks and withdrawals, oldest first."""
        return await self._answer(changes=Call("research.changes", query={"since": since, "limit": limit}))

    async def table_link(
        self,
        alpha: Alpha,
        table: Annotated[
            str, Field(description="Published table, such as decisions, portfolio or positions.")
        ],
        book: Annotated[str | None, Field(description="Book of a table that is stored by book.")] = None,
    ) -> str:
        """Sign a link to one table as Parquet. Whoever has it can use it for some minutes: pass it to code, not to people."""
        path = {"alpha": alpha, "table": table}
        return await self._answer(table=Call("catalog.alphas.tables.download", path, {"book": book}))

    async def _answer(self, **calls: Call) -> str:
        """Make the calls and combine their answers; refused ones are reported along with the others.

        Raises
        ------
        ToolError
            If every call was refused, with the errors of the API.
        """
        parts: dict[str, dict[str, Any]] = {}
        refused = 0
        for name, call in calls.items():
            status, body = await self._call(call)
            if status != 200:
                refused += 1
                parts[name] = {"refused": {x: body["error"][x] for x in ("code", "message", "details")}}
                continue
            data = body["data"]
            if call.endpoint in _SUMMARISERS:
                data = _SUMMARISERS[call.endpoint](data)
            meta = body.get("meta", {})
            provenance = {
                x: meta[x]
                for x in ("snapshot", "published_at", "next", "warnings", "notices", "summary")
                if x in meta
            }
            parts[name] = {
                **provenance,
                "data": data,
                "units": find_units(call.endpoint, [data, provenance]),
                "call": call.address,
                **({"total": body["pagination"]["total"]} if "pagination" in body else {}),
            }
        text = await asyncio.to_thread(fit, parts)  # thousands of rows would hold up the event loop
        if refused == len(calls):
            raise ToolError(text)
        return text
