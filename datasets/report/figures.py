"""How figures are called and written on a tear sheet."""

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
"""Figures that are parts of something, and what they are called as per cent of it."""
_MONEY: Final = {"pnl": "% of initial equity", "max_drawdown": "% of initial equity"}
"""The same of amounts, in a ledger that opens with 1: their unit is a ratio then."""
_STANDING: Final = {
    Checked.REPRODUCED: "sealed, and reproduced from its tables",
    Checked.COMPUTED: "computed",
    Checked.STATED: "sealed, and no table supports it",
    Checked.CONTRADICTED: "computed, for the tables contradict what was sealed",
}
_UNITS: Final = {
    "ratio": "",
    "percentage_points": " %",
    "per_year": " a year",
    "per_session": " a session",
    "period_sum": " in total",
    "base_currency_units": "",
}
"""What is written behind a value; a ratio is written as it is."""
_ISO_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d(?:T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00))?\b")
_TWO_DECIMALS: Final = frozenset({"percentage_points", "per_year", "period_sum"})


def label(name: str) -> str:
    """Return what a figure is called; one without a name of its own is called by its key."""
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def number(value: float | None, digits: int = 4) -> Markup:
    """Return a number to so many digits that say something."""
    return _exact(value, lambda x: written(x, digits))


def percent(value: float | None, digits: int = 2) -> Markup:
    """Return a ratio as per cent."""
    return _exact(value, lambda x: f"{100 * x:,.{digits}f} %")


def points(value: float | None) -> Markup:
    """Return percentage points as per cent."""
    return _exact(value, lambda x: f"{x:,.2f} %")


def fixed(value: float | None) -> Markup:
    """Return a number with two decimals."""
    return _exact(value, lambda x: f"{x:.2f}")


def _exact(value: float | None, write: Callable[[float], str]) -> Markup:
    """Return a number as it is written, with the exact one behind it; a dash for null."""
    if value is None:
        return Markup(DASH)  # noqa: S704 - a constant
    return Markup('<data value="{}">{}</data>').format(repr(value), write(value))


def entry(statistic: Mapping[str, Any], name: str = "", *, unit: bool = True) -> Markup:
    """Return the value of a statistic, with its unit unless the head of its column has that; its reason where it is withheld."""
    value = statistic["value"]
    if value is None:
        return withheld(statistic.get("withheld_reason"))
    share = statistic["unit"] == "ratio" and name in _SHARES | _MONEY
    if share:
        shown = f"{100 * value:,.2f}"
    else:
        shown = f"{value:,.2f}" if statistic["unit"] in _TWO_DECIMALS else written(value)
    behind = " %" if share else _UNITS.get(statistic["unit"], " " + statistic["unit"].replace("_", " "))
    mark = Markup(' <span class="withheld">stated</span>') if statistic["checked"] == Checked.STATED else ""
    return Markup('<data value="{}">{}</data>{}{}').format(repr(value), shown, behind if unit else "", mark)


def of_equity(sheets: Iterable[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Return a figure of several sheets, amounts of money as parts of the equity that each run began with."""
    values = [(sheet["metrics"]["core"][name], sheet["equity_basis"]) for sheet in sheets]
    return [
        {**one, "value": one["value"] / basis, "unit": "ratio"}
        if one["unit"] == "base_currency_units" and one["value"] is not None
        else one
        for one, basis in values
    ]


def unit(statistics: Iterable[Mapping[str, Any] | None], name: str) -> str:
    """Return the unit that all of some statistics are in, as it stands at the head of their row or column; "" where they differ."""
    units = {_unit(one, name) for one in statistics if one and one["value"] is not None}
    return units.pop() if len(units) == 1 else ""


def _unit(statistic: Mapping[str, Any], name: str) -> str:
    if statistic["unit"] == "ratio":
        return (_SHARES | _MONEY).get(name, basis(statistic))
    return _UNITS.get(statistic["unit"], str(statistic["unit"]).replace("_", " ")).strip()


def basis(statistic: Mapping[str, Any]) -> str:
    """Return over what a figure is stated: a year, a period; empty where neither makes sense."""
    return {"annualised": "annualised", "per_period": "per period"}.get(statistic["annualisation"], "")


def day(text: str) -> str:
    """Return a day, or the day of an instant, as people write it.

    Examples
    --------
    >>> day("2023-01-31"), day("2026-11-04T21:02:54Z")
    ('31 Jan 2023', '4 Nov 2026')
    """
    date = dt.date.fromisoformat(text[:10])
    return f"{date.day} {date:%b %Y}"


def dated(message: str) -> str:
    """Return a message with its days, and the minutes of its instants, as people write them.

    Examples
    --------
    >>> dated("no close before 2023-01-31; seen at 2026-11-04T21:02:54Z")
    'no close before 31 Jan 2023; seen at 4 Nov 2026, 21:02 UTC'
    """

    def for_people(match: re.Match[str]) -> str:
        try:
            return day(match[0]) + (f", {match[1]} UTC" if match[1] else "")
        except ValueError:  # no day of any calendar: the words of a seal
            return match[0]

    return _ISO_DAY.sub(for_people, message)


def standing(statistic: Mapping[str, Any]) -> str:
    """Return what a figure rests on, in words; the sealed value beside it where another one is shown."""
    words = _STANDING.get(statistic["checked"], "")
    if "sealed_value" not in statistic:
        return words
    convention = statistic["sealed_convention"]
    sealed = f"{written(statistic['sealed_value'])} was sealed" + (f" by {convention}" if convention else "")
    return f"{words}; {sealed}" if words else sealed


def measured(check: Mapping[str, Any], name: str) -> Markup:
    """Return the value of an entry of the audit, or what it is held against, with its unit; empty for null."""
    value, unit = check[name], check["unit"]
    if value is None:
        return Markup("")
    behind = "" if unit in (None, "ratio") else " " + unit.replace("_", " ")
    return Markup('<data value="{}">{}</data>{}').format(repr(value), written(value, 6), behind)


def banded(name: str, value: float, equity_basis: float) -> Markup:
    """Return a figure of the bands as it is written elsewhere on the sheet, of books that open with the equity given."""
    if name in _SHARES or (name in _MONEY and equity_basis == 1):
        return percent(value)
    return points(value) if name == "max_drawdown_pct" else number(value)


def span(window: Mapping[str, str | None] | None) -> str:
    """Return the days of a window in words; of the whole run where there is none."""
    if window is None:
        return "the whole run"
    first, last = window["from"], window["to"]
    if first is None:
        return f"the days up to {day(last or '')}"
    return f"{day(first)} to {day(last)}" if last is not None else f"the days from {day(first)} on"


def withheld(reason: str | None) -> Markup:
    """Return what stands in place of a figure: that it is withheld, and why."""
    return Markup('<span class="withheld">withheld: {}</span>').format(dated(reason or "no reason was given"))


def written(value: float, digits: int = 4) -> str:
    """Return a number to so many digits that say something; thousands are grouped.

    Examples
    --------
    >>> written(0.0123456), written(12345.678), written(2.0), written(0.0)
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


def reason(metrics: Mapping[str, Any], *blocks: str) -> str:
    """Return why a block of the metrics is null, from the warnings and notices that stand beside them."""
    reasons = [x["message"] for member in CODES for x in metrics[member] if x.get("block") in blocks]
    return " ".join(reasons) or "the data of the run do not determine it"
