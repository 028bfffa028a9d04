"""The documentation block, derived from the declared payload."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from schemas.endpoints import ENDPOINTS
from schemas.metrics.core import CORE, REPRODUCTION_TOLERANCE, RISK_FREE_RATE
from schemas.metrics.field import MetricField, documented
from schemas.metrics.payload import METRICS
from schemas.metrics.statistic import CROSS_SECTIONS, DERIVED, INDEX, LEDGER, Checked, Signal, Status
from schemas.warning_codes import NOTICE_CODES, WARNING_CODES

SCHEMA_VERSION: Final = "2.0.0"
"""Of the block's structure: raised when keys of the block or of an entry change, not when a statistic is added."""

_ENDPOINT: Final = ENDPOINTS["performance.metrics"]
_DOC_ENDPOINT: Final = ENDPOINTS["performance.metrics.doc"]


@cache
def documentation() -> dict[str, Any]:
    """Return the block: one object, the same for every alpha, every key and every call.

    Returns
    -------
    dict
        ``schema_version``, ``endpoint`` (prose by topic), ``fields`` (payload path to its entry) and ``warnings``
        (code to meaning). Shared between calls: not to be changed.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "endpoint": _prose(),
        "fields": {path: _entry(field) for path, field in documented(METRICS)},
        "warnings": dict(WARNING_CODES),
    }


def _entry(field: MetricField) -> dict[str, str]:
    entry = {
        "meaning": field.meaning,
        "formula": field.formula,
        "horizon": field.horizon,
        "granularity": field.granularity,
        "source": field.source,
        "unit": field.counts or field.unit.value,
    }
    if field.signal:
        entry["signal"] = str(field.signal)
    if field.availability:
        entry["availability"] = field.availability
    return entry


def _prose() -> dict[str, str]:
    sealed = ", ".join(sealed.name for statistic in CORE for sealed in statistic.sealed)
    return {
        "path": f"GET {_ENDPOINT.path}; this block alone: GET {_DOC_ENDPOINT.path}, or doc=1 to embed it.",
        "identity": (
            "`alpha` is the address that was served and equals meta.run; `alpha_id` is the id the run has in research. "
            "Every figure of a book is of long_short: there is no book parameter."
        ),
        "parameters": " ".join(f"{parameter.name}: {parameter.meaning}" for parameter in _ENDPOINT.query),
        "sources": (
            "A statistic is served as the run sealed it, with the sealed name, unit and kind, unless its tables give another value "
            "by the definition of the interface; then, and without a sealed value, it "
            f"is computed from the stored data (source_kind {DERIVED}); where neither is possible its status is "
            f"{Status.NOT_MEASURABLE}, its value null and withheld_reason says why. A figure that is not determined is "
            f"never 0. Sealed names of the core statistics: {sealed}."
        ),
        "checked": (
            "What a value rests on: "
            f"{Checked.REPRODUCED}: sealed, and the tables give the same by this definition. "
            f"{Checked.COMPUTED}: computed from the tables; where the run sealed a value by another convention, sealed_value, "
            "sealed_unit and sealed_convention have it. "
            f"{Checked.STATED}: sealed, and no table supports it; such a figure takes no part in sorts, bounds and comparisons. "
            f"{Checked.CONTRADICTED}: the tables contradict the sealed value, which sealed_value has; the figure computed is "
            "served, or none."
        ),
        "window_semantics": (
            "from and to are inclusive days. They narrow tenure, ic_deciles, nwt.ic_score_panel, nwt.ir, panel and periods, "
            "each of which is what the rows of the window alone would give: a holding "
            "period of several weeks counts when all of it lies inside, a lag when both weeks do. core, rank_ic and nwt.ic "
            "describe the whole run, sealed or computed, which the warning window_lifetime_only says; within_window has the same "
            "figures of the window, computed from its rows."
        ),
        "periods": (
            "A year or month is listed when the window touches it. Its sealed statistics are of the whole period even "
            "where the window cuts it; computed ones are of its days inside the window. within_window.periods has all of "
            "them computed of these days."
        ),
        "units": (
            "The unit on an entry is that of its value. Amounts of equity are a ratio of the opening equity when the "
            "ledger is normalised (equity_basis 1), base_currency_units otherwise; turnover is per_year, per_session or "
            "a period_sum according to what was sealed."
        ),
        "risk_free_rate": (
            f"Stated beside excess_sharpe: the sealed {RISK_FREE_RATE}, otherwise the mean risk_free_return of the "
            "sessions the ratio was computed on, x 252. A ratio of a window or a part of a period states the "
            "rate of those sessions."
        ),
        "reproduction": (
            "nwt.ic is given only when the weekly series rebuilt from the cross-sections has the sealed mean_ic as its "
            f"mean, to {REPRODUCTION_TOLERANCE:g} in absolute terms: a test of another series than the one sealed would "
            "mislead."
        ),
        "access": (
            f"The key needs {_ENDPOINT.id}. Figures computed from {CROSS_SECTIONS.meaning} also need "
            f"{CROSS_SECTIONS.endpoint} (ic_deciles, panel, nwt.ic, nwt.ic_score_panel, and rank_ic, core.ic and "
            f"core.icir where not sealed), those from {LEDGER.meaning} need {LEDGER.endpoint} (nwt.ir and the other core "
            f"statistics where not sealed), core.tenure needs {INDEX.endpoint}. Without it the block is null, or the "
            "statistic withheld, and an access_limited warning names what is closed. Sealed values need no more than "
            f"{_ENDPOINT.id}. Raw-book access is not needed: figures about the raw signal are figures of the run."
        ),
        "signal_families": (
            f"{Signal.CONDITIONED}: measured on the delivered, smoothed score (core.ic, core.icir, "
            "rank_ic.conditioned, nwt.ic, panel.ic_weekly). "
            f"{Signal.RAW}: measured on the score before smoothing (rank_ic.raw, nwt.ic_score_panel, ic_deciles and the "
            "other series of panel). Neither stands in for the other."
        ),
        "missing_values": (
            "A block that cannot be given is null and a warning names it; panel and doc are absent when not requested."
        ),
        "notices": (
            "meta.notices has entries of the same shape as meta.warnings, with codes of their own. "
            + " ".join(f"{code}: {meaning}" for code, meaning in NOTICE_CODES.items())
        ),
        "caching": "This block is the same for every alpha and may be cached for a day.",
    }
