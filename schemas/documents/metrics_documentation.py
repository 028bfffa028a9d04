"""The documentation block of the metrics, derived from the declared payload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

from schemas.endpoints import ENDPOINTS
from schemas.field import Field
from schemas.metrics.core import CORE, REPRODUCTION_TOLERANCE, RISK_FREE_RATE
from schemas.metrics.payload import METRICS
from schemas.metrics.statistic import (
    CHECKED_MEANINGS,
    CROSS_SECTIONS,
    DERIVED,
    INDEX,
    LEDGER,
    Signal,
    Status,
)
from schemas.warning_codes import NOTICE_CODES, WARNING_CODES

SCHEMA_VERSION: Final = "2.0.0"
"""Version of the block's structure: bump when keys of the block or of an entry change, not when a statistic is added."""

_INHERITED: Final = ("formula", "horizon", "granularity", "source", "signal")
_ENDPOINT: Final = ENDPOINTS["performance.metrics"]


@cache
def documentation() -> dict[str, Any]:
    """Return the block, which is the same for every alpha, key and call.

    Returns
    -------
    dict
        ``schema_version``, ``endpoint`` (prose by topic), ``fields`` (payload path to its entry) and ``warnings``
        (code to meaning). Shared between calls: do not modify it.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "endpoint": _prose(),
        # The documentation does not document itself.
        "fields": {path: _entry(field) for path, field in documented(METRICS) if not path.startswith("doc.")},
        "warnings": dict(WARNING_CODES),
    }


def documented(parent: Field, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every member below an object with its dotted path, traits inherited, parents before members.

    Members of a list's entries have ``[]`` after the list's key.
    """
    for member in (parent if parent.items is None else parent.items).fields:
        traits: dict[str, Any] = {
            trait: getattr(member, trait) or getattr(parent, trait) for trait in _INHERITED
        }
        resolved = replace(member, **traits)
        path = prefix + member.name
        yield path, resolved
        yield from documented(resolved, f"{path}." if member.items is None else f"{path}[].")


def _entry(field: Field) -> dict[str, str]:
    entry = {
        "meaning": field.meaning,
        "formula": field.formula,
        "horizon": field.horizon,
        "granularity": field.granularity,
        "source": field.source,
        "unit": str(field.unit),
    }
    if field.signal:
        entry["signal"] = str(field.signal)
    if field.availability:
        entry["availability"] = field.availability
    return entry


def _prose() -> dict[str, str]:
    sealed = ", ".join(sealed.name for statistic in CORE for sealed in statistic.sealed)
    return {
        "path": f"GET {_ENDPOINT.path}; this block alone: GET {ENDPOINTS['performance.metrics.doc'].path}, or doc=1 to embed it.",
        "identity": (
            "`alpha` is the address that was served and equals meta.run; `alpha_id` is the id of the run in research. "
            "All figures of a book are of long_short: there is no book parameter."
        ),
        "parameters": " ".join(f"{parameter.name}: {parameter.meaning}" for parameter in _ENDPOINT.query),
        "sources": (
            "A statistic is served as the run sealed it, with the sealed name, unit and kind, unless the tables give another value by "
            "the API's definition. In that case, and without a sealed value, it is computed from the stored data "
            f"(source_kind {DERIVED}). If neither is possible, its status is {Status.NOT_MEASURABLE}, its value null and "
            "withheld_reason gives the reason. An undetermined figure is never 0. Sealed names of the core statistics: "
            f"{sealed}."
        ),
        "checked": "Provenance of a value. "
        + " ".join(f"{word}: {meaning}" for word, meaning in CHECKED_MEANINGS.items()),
        "window_semantics": (
            "from and to are inclusive days. tenure, ic_deciles, nwt.ic_score_panel, nwt.ir, panel and periods follow the window: each "
            "is computed from the rows of the window only. A holding period of several weeks counts if it lies completely inside, a "
            "lag if both weeks do. core, rank_ic and nwt.ic describe the run, sealed or computed, as the warning window_lifetime_only "
            "states; within_window has the same figures of the window, computed from its rows."
        ),
        "periods": (
            "A year or month is listed if the window overlaps it. Its sealed statistics describe the complete period even if the window "
            "cuts it; computed ones describe its days inside the window. In within_window.periods all are computed from these days."
        ),
        "units": (
            "The unit on an entry is that of its value. Amounts of equity are a ratio of the opening equity if the ledger is normalised "
            "(equity_basis 1), otherwise in base_currency_units; turnover is per_year, per_session or a period_sum, as it was sealed."
        ),
        "risk_free_rate": (
            f"Stated with excess_sharpe: the sealed {RISK_FREE_RATE}, otherwise the mean risk_free_return of the sessions of the "
            "ratio, x 252. A ratio of a window or of part of a period states the rate of those sessions."
        ),
        "reproduction": (
            "nwt.ic is given only if the mean of the weekly series rebuilt from the cross-sections equals the sealed mean_ic to within "
            f"{REPRODUCTION_TOLERANCE:g} in absolute terms: a test of a different series would be misleading."
        ),
        "access": (
            f"The key needs {_ENDPOINT.id}. Figures computed from {CROSS_SECTIONS.meaning} also need "
            f"{CROSS_SECTIONS.endpoint} (ic_deciles, panel, nwt.ic, nwt.ic_score_panel, and rank_ic, core.ic and "
            f"core.icir where not sealed), those from {LEDGER.meaning} need {LEDGER.endpoint} (nwt.ir and the other core "
            f"statistics where not sealed), core.tenure needs {INDEX.endpoint}. Without it the block is null or the statistic withheld, "
            f"with an access_limited warning. Sealed values need only {_ENDPOINT.id}. Raw-book access is not needed: figures about the "
            "raw signal are figures of the run."
        ),
        "signal_families": (
            f"{Signal.CONDITIONED}: measured on the delivered, smoothed score (core.ic, core.icir, "
            "rank_ic.conditioned, nwt.ic, panel.ic_weekly). "
            f"{Signal.RAW}: measured on the score before smoothing (rank_ic.raw, nwt.ic_score_panel, ic_deciles and the "
            "other series of panel). Neither replaces the other."
        ),
        "missing_values": (
            "A block that cannot be given is null, with a warning; panel and doc are absent unless requested."
        ),
        "notices": (
            "meta.notices has entries of the same shape as meta.warnings, with codes of their own. "
            + " ".join(f"{code}: {meaning}" for code, meaning in NOTICE_CODES.items())
        ),
        "caching": "This block is the same for every alpha and may be cached for a day.",
    }
