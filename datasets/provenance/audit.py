"""The audit of a run: its checks and their outcomes, from the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from datasets.figures.checks import (
    CheckSummary,
    MayRead,
    may_see,
    named_alphas,
    rows_checked,
    share_checked,
)
from datasets.manifest import Manifest
from datasets.provenance.manifest_view import visible
from datasets.provenance.sealed_weeks import RESTATED, describe
from schemas.notices.catalogue import TOO_FEW_OTHERS
from schemas.objects.audit import ENTRY_KINDS, STATUSES
from schemas.plurals import counted
from schemas.tables.books import RAW_PREFIX
from schemas.tables.sealed_metrics import NOT_REPRODUCED, REPRODUCED

WITHHELD, NOTICE, NOT_CHECKED, PASS = STATUSES
Entry = dict[str, Any]
NOT_RECORDED: Final = "the snapshot records no checks; build its seal again"
CLOSED: Final = "its figures are withheld: the key may not call {}"


@dataclass(frozen=True, slots=True)
class Reader:
    """The rights of an audit's reader.

    Attributes
    ----------
    raw
        Whether the reader sees the raw columns and books.
    may_read
        Whether the reader may read another alpha.
    closed
        An endpoint that the checks' data come from and that the reader may not call, so that the audit has outcomes without
        figures; None if the reader may call all of them.
    """

    raw: bool
    may_read: MayRead
    closed: str | None = None


ANALYST: Final = Reader(raw=True, may_read=lambda _: True)
"""An analyst with access to the files, who may see everything."""


def audit(manifest: Manifest, summary: CheckSummary | None, reader: Reader) -> dict[str, Any]:
    """Return the audit of a run.

    Parameters
    ----------
    manifest
        Manifest of the snapshot.
    summary
        Result of :func:`datasets.figure_data.read_check_summary`.
    reader
        Rights of the reader; entries and counts omit what the reader may not see.

    Returns
    -------
    dict
        JSON-ready, as :data:`schemas.objects.audit.AUDIT` declares it.
    """
    entries = audit_entries(manifest, reader)
    checked = None if summary is None else summary.for_reader(raw=reader.raw, may_read=reader.may_read)
    statuses = [entry["status"] for entry in entries]
    return {
        "summary": {
            "verdict": verdict(checked),
            **{status: statuses.count(status) for status in STATUSES},
            "checked": checked,
        },
        "entries": entries,
    }


def verdict(checked: Mapping[str, Any] | None) -> str:
    """Return the check summary as one line of text."""
    if checked is None:
        return f"Not audited: {NOT_RECORDED}"
    notices, proven = checked["notices"], checked["forward_returns_proven"]
    sealed = sum(checked[outcome] for outcome in ("reproduced", "stated", "contradicted"))
    parts = [
        counted(notices, "notice") if notices else "No notices",
        "no forward return could be checked"
        if proven is None
        # Rounded down: 99.9% is not 100%.
        else f"{int(100 * proven)}% of forward returns proven",
    ]
    figures = [f"{checked['reproduced']} of {sealed} figures reproduced"] if sealed else ["no figure sealed"]
    figures += [f"{checked[x]} {x}" for x in ("stated", "contradicted") if checked[x]]
    return " · ".join([*parts, ", ".join(figures)])


def audit_entries(manifest: Manifest, reader: Reader = ANALYST) -> list[Entry]:
    """Return an entry for each check that the reader may see, worst first."""
    entries = [
        *_notices(manifest, reader),
        *map(_earlier_seal, manifest.history),
        *(
            _figure(figure)
            for figure in manifest.reconciliation.get("figures", ())
            if reader.raw or not figure["name"].startswith(RAW_PREFIX)
        ),
        *(_rule(check, manifest, raw=reader.raw) for check in manifest.checks),
    ]
    shown: list[Entry] = visible(entries, raw=reader.raw)
    if reader.closed is not None:
        shown = [_closed(entry, reader.closed) for entry in shown]
    return sorted(
        shown, key=lambda entry: (STATUSES.index(entry["status"]), ENTRY_KINDS.index(entry["kind"]))
    )


def _notices(manifest: Manifest, reader: Reader) -> Iterator[Entry]:
    for notice in manifest.notices:
        names = named_alphas(notice)
        if notice["raw"] and not reader.raw:
            continue
        if not may_see(notice["raw"], names, raw=reader.raw, may_read=reader.may_read):
            # Do not disclose that other runs exist.
            yield _entry(
                "notice", notice["notice"], NOT_CHECKED, figure=notice["figure"], reason=TOO_FEW_OTHERS
            )
            continue
        entry = _entry(
            "notice",
            notice["notice"],
            notice["outcome"],
            reason=notice["message" if notice["outcome"] == NOTICE else "reason"],
            **{name: notice[name] for name in ("figure", "value", "threshold", "unit", "details")},
        )
        readable = [name for name in names if reader.may_read(name)]
        yield entry if len(readable) == len(names) else _redact_values(entry, readable)


def _redact_values(entry: Entry, readable: list[str]) -> Entry:
    """Remove values that would reveal how many of the other runs the reader may not see."""
    reason = f"It concerns other runs, of which this key may read {', '.join(readable)}."
    return {**entry, "value": None, "unit": None, "reason": reason, "details": {"alphas": readable}}


def _earlier_seal(seal: Mapping[str, Any]) -> Entry:
    restated = seal["outcome"] == RESTATED
    return _entry(
        "history",
        seal["snapshot"],
        NOTICE if restated else PASS,
        figure="mean_ic",
        value=seal["mean_ic_after"],
        threshold=seal["mean_ic_before"],
        unit="ratio",
        reason=describe(seal) if restated else None,
        details={name: value for name, value in seal.items() if name not in ("snapshot", "mean_ic_after")},
    )


def _figure(figure: Mapping[str, Any]) -> Entry:
    sealed, recomputed = figure["sealed"], figure["recomputed"]
    status, reason = NOT_CHECKED, figure.get("reason")
    if figure["status"] == REPRODUCED:
        status = PASS
    elif figure["status"] == NOT_REPRODUCED:
        status = WITHHELD if recomputed is None else NOTICE
        outcome = "do not determine it" if recomputed is None else f"give {recomputed:.9g}, which is served"
        reason = f"No documented convention gives the sealed {sealed:.9g}; the tables {outcome}."
    return _entry(
        "figure",
        figure["name"] if figure["period"] is None else f"{figure['name']}.{figure['period']}",
        status,
        figure=figure["name"],
        value=sealed,
        threshold=recomputed,
        reason=reason,
        details={
            name: figure[name] for name in ("scope", "period", "convention") if figure.get(name) is not None
        },
    )


def _rule(check: Mapping[str, Any], manifest: Manifest, *, raw: bool) -> Entry:
    broken = [x for x in manifest.warnings if x["rule"] == check["rule"]]
    message = " ".join(x["message"] for x in broken)
    share = share_checked(check, raw=raw)
    counts: dict[str, Any] = {}
    if check["of"] is not None:
        counts = {"checked": rows_checked(check, raw=raw), "of": check["of"]}
    if broken:
        counts["files"] = sorted({x["file"] for x in broken})
        if visible(message, raw=raw) == visible(message, raw=True):  # otherwise the rows include raw columns
            counts["rows"] = sum(x["rows"] for x in broken)
    return _entry(
        "rule",
        check["rule"],
        check["outcome"],
        value=share,
        unit=None if share is None else "ratio",
        reason=message or check["reason"],
        details=counts,
    )


def _closed(entry: Entry, endpoint: str) -> Entry:
    """Remove the figures of an entry whose data the reader may not see."""
    shown = {name: value for name, value in entry["details"].items() if name in ("scope", "period", "alphas")}
    reasons = {PASS: None, NOT_CHECKED: entry["reason"]}
    reason = reasons.get(entry["status"], CLOSED.format(endpoint))
    return {**entry, "value": None, "threshold": None, "unit": None, "reason": reason, "details": shown}


def _entry(kind: str, name: str, status: str, **members: Any) -> Entry:
    """Return an entry in declared order; missing members are null."""
    return {
        "kind": kind,
        "id": name,
        "status": status,
        **dict.fromkeys(("figure", "value", "threshold", "unit", "reason")),
        "details": {},
        **members,
    }
