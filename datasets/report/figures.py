"""Labels and formats of figures on a tear sheet."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from markupsafe import Markup

from schemas.metrics.statistic import Checked
from schemas.warning_codes import CODES

DASH: Final = "\N{EN DASH}"
_LABELS: Final = {
    "ic": "Mean IC",
    "icir": "ICIR",
    "information_ratio": "Sharpe ratio",
    "excess_sharpe": "Excess Sharpe",
    "pnl": "Profit",
    "max_drawdown": "Max drawdown, in equity",
    "max_drawdown_pct": "Max drawdown",
    "turnover": "Turnover",
    "hit_rate": "IC hit rate",
    "dispersion": "Standard deviation of weekly IC",
    "coverage": "Coverage",
    "sharpe": "Sharpe ratio",
    "annualised_return": "Return (CAGR)",
    "volatility": "Volatility",
    "sortino": "Sortino ratio",
}
_SHARES: Final = {"annualised_return": "% a year", "volatility": "% a year", "hit_rate": "% of weeks"}
"""Figures that are fractions -> their unit when shown in per cent."""
_MONEY: Final = {"pnl": "% of initial equity", "max_drawdown": "% of initial equity"}
"""Amounts of a normalised ledger, whose unit is a ratio -> their unit when shown in per cent."""
_EVIDENCE: Final = {
    Checked.REPRODUCED: "sealed, and reproduced from its tables",
    Checked.COMPUTED: "computed",
    Checked.STATED: "sealed, and no table supports it",
    Checked.CONTRADICTED: "computed, because the tables contradict the sealed value",
}
_UNITS: Final = {
    "ratio": "",
    "percentage_points": "%",
    "per_year": " a year",
    "per_session": " a session",
    "period_sum": " in total",
    "base_currency_units": " base currency",
}
"""Unit -> suffix of a value; ratios have none."""
_ISO_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d(?:T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00))?\b")
_NULL_BLOCK: Final = re.compile(r"^[\w.]+ is null: ")
"""Start of a warning about a null block, which a sheet says by its heading."""
_TWO_DECIMALS: Final = frozenset({"percentage_points", "per_year", "period_sum"})


def label(name: str) -> str:
    """Return the label of a figure; by default, its key in words."""
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def number(value: float | None, digits: int = 4) -> Markup:
    """Format a number, by default to four significant digits."""
    return _exact(value, lambda x: significant(x, digits))


def percent(value: float | None, digits: int = 2) -> Markup:
    """Format a ratio in per cent."""
    return _exact(value, lambda x: f"{100 * x:,.{digits}f}%")


def points(value: float | None) -> Markup:
    """Format percentage points in per cent."""
    return _exact(value, lambda x: f"{x:,.2f}%")


def fixed(value: float | None) -> Markup:
    """Format a number with two decimals."""
    return _exact(value, lambda x: f"{x:.2f}")


def _exact(value: float | None, write: Callable[[float], str]) -> Markup:
    """Format a number, with its exact value in a `data` element; a dash for null."""
    if value is None:
        return Markup(DASH)  # noqa: S704 - a constant
    return Markup('<data value="{}">{}</data>').format(repr(value), write(value))


def entry(statistic: Mapping[str, Any], name: str = "", *, unit: bool = True) -> Markup:
    """Format the value of a statistic, with its unit unless the table header has it; or the reason why it is withheld."""
    value = statistic["value"]
    if value is None:
        return withheld(statistic.get("withheld_reason"))
    share = statistic["unit"] == "ratio" and name in _SHARES | _MONEY
    if share:
        shown = f"{100 * value:,.2f}"
    else:
        shown = f"{value:,.2f}" if statistic["unit"] in _TWO_DECIMALS else significant(value)
    suffix = "%" if share else _UNITS.get(statistic["unit"], " " + statistic["unit"].replace("_", " "))
    mark = Markup(' <span class="withheld">stated</span>') if statistic["checked"] == Checked.STATED else ""
    return Markup('<data value="{}">{}</data>{}{}').format(repr(value), shown, suffix if unit else "", mark)


def of_equity(sheets: Iterable[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Return a figure of several sheets, with amounts as fractions of each run's opening equity."""
    values = [(sheet["metrics"]["core"][name], sheet["equity_basis"]) for sheet in sheets]
    return [
        {**statistic, "value": statistic["value"] / basis, "unit": "ratio"}
        if statistic["unit"] == "base_currency_units" and statistic["value"] is not None
        else statistic
        for statistic, basis in values
    ]


def unit(statistics: Iterable[Mapping[str, Any] | None], name: str) -> str:
    """Return the common unit of statistics for the header of their row or column; "" if their units differ."""
    units = {_unit(x, name) for x in statistics if x and x["value"] is not None}
    return units.pop() if len(units) == 1 else ""


def _unit(statistic: Mapping[str, Any], name: str) -> str:
    if statistic["unit"] == "ratio":
        return (_SHARES | _MONEY).get(name, basis(statistic))
    return _UNITS.get(statistic["unit"], str(statistic["unit"]).replace("_", " ")).strip()


def basis(statistic: Mapping[str, Any]) -> str:
    """Return the time basis of a figure, annualised or per period; empty if it has none."""
    return {"annualised": "annualised", "per_period": "per period"}.get(statistic["annualisation"], "")


def day(text: str) -> str:
    """Format a day, or the day of a timestamp.

    Examples
    --------
    >>> day("2023-01-31"), day("2026-11-04T21:02:54Z")
    ('31 Jan 2023', '4 Nov 2026')
    """
    date = dt.date.fromisoformat(text[:10])
    return f"{date.day} {date:%b %Y}"


def dated(message: str) -> str:
    """Format the days and timestamps in a message.

    Examples
    --------
    >>> dated("no close before 2023-01-31; seen at 2026-11-04T21:02:54Z")
    'no close before 31 Jan 2023; seen at 4 Nov 2026, 21:02 UTC'
    """

    def for_people(match: re.Match[str]) -> str:
        try:
            return day(match[0]) + (f", {match[1]} UTC" if match[1] else "")
        except ValueError:  # not a valid day: arbitrary text from a seal
            return match[0]

    return _ISO_DAY.sub(for_people, message)


def evidence(statistic: Mapping[str, Any]) -> str:
    """Return the evidence for a figure in words, and the sealed value if it differs from the shown one."""
    words = _EVIDENCE.get(statistic["checked"], "")
    if "sealed_value" not in statistic:
        return words
    convention = statistic["sealed_convention"]
    sealed = f"{significant(statistic['sealed_value'])} was sealed" + (
        f" by {convention}" if convention else ""
    )
    return f"{words}; {sealed}" if words else sealed


def measured(check: Mapping[str, Any], name: str) -> Markup:
    """Return the value or threshold of an audit entry with its unit; empty for null."""
    value, unit = check[name], check["unit"]
    if value is None:
        return Markup("")
    suffix = "" if unit in (None, "ratio") else " " + unit.replace("_", " ")
    return Markup('<data value="{}">{}</data>{}').format(repr(value), significant(value, 6), suffix)


def banded(name: str, value: float, equity_basis: float) -> Markup:
    """Format a figure of the bands like the same figure elsewhere on the sheet."""
    if name in _SHARES or (name in _MONEY and equity_basis == 1):
        return percent(value)
    return points(value) if name == "max_drawdown_pct" else number(value)


def span(window: Mapping[str, str | None] | None) -> str:
    """Return the days of a window in words; None means the whole run."""
    if window is None:
        return "the whole run"
    first, last = window["from"], window["to"]
    if first is None:
        return f"the days up to {day(last or '')}"
    return f"{day(first)} to {day(last)}" if last is not None else f"the days from {day(first)} on"


def withheld(reason: str | None) -> Markup:
    """Return the placeholder of a withheld figure with its reason."""
    return Markup('<span class="withheld">withheld: {}</span>').format(dated(reason or "no reason was given"))


def significant(value: float, digits: int = 4) -> str:
    """Format a number to some significant digits, with grouped thousands.

    Examples
    --------
    >>> significant(0.0123456), significant(12345.678), significant(2.0), significant(0.0)
    ('0.01235', '12,346', '2', '0')
    """
    if not math.isfinite(value):
        return DASH
    if value == 0 or isinstance(value, int):
        return f"{value:,}" if value else "0"
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size < 12:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def reason(metrics: Mapping[str, Any], block: str) -> str:
    """Return why a block of the metrics is null, from the warnings and notices of the answer, without a final full stop."""
    reasons = [
        _NULL_BLOCK.sub("", entry["message"]).removesuffix(".")
        for member in CODES
        for entry in metrics[member]
        if entry.get("block") == block
    ]
    return "; ".join(reasons) or "the data of the run do not determine it"
