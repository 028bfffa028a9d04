"""Weekly digests of every seal of an alpha, used to detect restatements.

Each alpha has one file next to its snapshots (:func:`datasets.layout.sealed_weeks_path`), which gc keeps. For each seal it has
the IC of every week and digests of the week's scores, targets, forward returns and fills. A seal's entry is written once,
before the pointer moves, and never changed. A seal is compared only with earlier entries, so that building it again gives
the same manifest. An entry stores only the weeks that differ from the previous entry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from schemas.errors import SnapshotCorrupt
from schemas.plurals import counted

EXTENDED: Final = "extended"
RESTATED: Final = "restated"
NOTICE: Final = "history.restated"
UNSETTLED_WEEKS: Final[Mapping[str, int]] = {"scores": 0, "targets": 1, "forward_returns": 2, "fills": 2}
"""Kind of data -> number of weeks at the end of a seal that may still change: a pending week is traded later, its forward
returns are known a week after its fills, and a halted name trades even later."""

_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")] | None


class SealedWeek(NamedTuple):
    """A week of a seal.

    Attributes
    ----------
    scores, targets, forward_returns, fills : str or None
        Hexadecimal digests of the week's rows; None if the run did not seal the kind of data, empty if the week has no rows.
    ic : float or None
        Rank IC of the week's scores; None if undefined.
    """

    scores: _Digest
    targets: _Digest
    forward_returns: _Digest
    fills: _Digest
    ic: float | None

    @property
    def digests(self) -> dict[str, str | None]:
        """Kind of data -> digest."""
        return {part: getattr(self, part) for part in UNSETTLED_WEEKS}


@dataclass(frozen=True, slots=True)
class SealEntry:
    """The entry of one seal.

    Attributes
    ----------
    seal_digest : str
        Digest of the seal.
    sealed_at : str
        ISO 8601, UTC.
    snapshot : str
        Id of the first snapshot built from the seal.
    weeks : Mapping[str, SealedWeek]
        Week (YYYY-MM-DD) -> digests and IC in the seal.
    """

    seal_digest: str
    sealed_at: str
    snapshot: str
    weeks: Mapping[str, SealedWeek]


@dataclass(frozen=True, slots=True)
class _StoredSeal(SealEntry):
    """A stored entry: the weeks that differ from the previous entry, and those that are gone."""

    gone: list[str]


@dataclass(frozen=True, slots=True)
class _Stored:
    seals: list[_StoredSeal]
    digests: tuple[Literal["scores"], Literal["targets"], Literal["forward_returns"], Literal["fills"]] = (
        "scores",
        "targets",
        "forward_returns",
        "fills",
    )


def compare(earlier: Mapping[str, SealedWeek], later: Mapping[str, SealedWeek]) -> dict[str, Any]:
    """Compare the common weeks of two seals.

    A week that the later seal lacks counts as restated, and so does one that it inserts between weeks of the earlier seal.
    Weeks before the first or after the last week of the earlier seal extend it. Data that may still change at the end of
    either seal (:data:`UNSETTLED_WEEKS`) are not compared.

    Parameters
    ----------
    earlier, later : Mapping[str, SealedWeek]
        Week (YYYY-MM-DD) -> digests and IC in each seal.

    Returns
    -------
    dict
        ``outcome``, ``common_weeks``, ``restated_weeks`` (kind -> number), ``restated_since`` (None if no week was
        restated), ``mean_ic_before`` and ``mean_ic_after``: the mean IC of the compared weeks in each of the two seals,
        None if no week has an IC.
    """
    compared = {part: _compared(earlier, later, end) for part, end in UNSETTLED_WEEKS.items()}
    restated = {
        part: {week for week in weeks if _differs(earlier.get(week), later.get(week), part)}
        for part, weeks in compared.items()
    }
    measured = compared["forward_returns"]
    return {
        "outcome": RESTATED if any(restated.values()) else EXTENDED,
        "common_weeks": len(earlier.keys() & later.keys()),
        "restated_weeks": {part: len(weeks) for part, weeks in restated.items()},
        "restated_since": min(set().union(*restated.values()), default=None),
        "mean_ic_before": _mean_ic(earlier, measured),
        "mean_ic_after": _mean_ic(later, measured),
    }


def compare_with_earlier(
    before: Sequence[SealEntry], weeks: Mapping[str, SealedWeek]
) -> tuple[dict[str, Any], ...]:
    """Return the entries of a manifest's ``history``.

    Parameters
    ----------
    before : sequence of SealEntry
        Earlier seals, oldest first.
    weeks : Mapping[str, SealedWeek]
        Week (YYYY-MM-DD) -> digests and IC in the seal being built.

    Returns
    -------
    tuple of dict
        Comparison with each earlier seal, as :func:`compare` returns it, in the order of `before`.
    """
    return tuple(
        {
            "seal_digest": entry.seal_digest,
            "sealed_at": entry.sealed_at,
            "snapshot": entry.snapshot,
            **compare(entry.weeks, weeks),
        }
        for entry in before
    )


def describe(entry: Mapping[str, Any]) -> str:
    """Describe an entry of a manifest's ``history`` in words.

    Parameters
    ----------
    entry : Mapping[str, Any]
        One of the entries that :func:`compare_with_earlier` returns.

    Returns
    -------
    str
        One line.
    """
    of = f"the seal of {entry['sealed_at']} ({entry['seal_digest'][:12]}), {counted(entry['common_weeks'], 'week')} in common"
    if entry["outcome"] == EXTENDED:
        return of
    counts = ", ".join(f"{part} {n}" for part, n in entry["restated_weeks"].items() if n)
    ics = [entry["mean_ic_before"], entry["mean_ic_after"]]
    before, after = ("none" if ic is None else f"{ic:.4f}" for ic in ics)
    return f"{of}: weeks restated since {entry['restated_since']}: {counts.replace('_', ' ')}; mean IC {before} before, {after} now"


def encode_seals(entries: Sequence[SealEntry]) -> bytes:
    """Encode the entries of an alpha.

    Parameters
    ----------
    entries : sequence of SealEntry
        In the order in which the seals were built.

    Returns
    -------
    bytes
        JSON; :func:`decode_seals` reads it.
    """
    stored, previous = list[_StoredSeal](), dict[str, SealedWeek]()
    for entry in entries:
        weeks = {week: own for week, own in entry.weeks.items() if previous.get(week) != own}
        gone = sorted(previous.keys() - entry.weeks.keys())
        stored.append(_StoredSeal(entry.seal_digest, entry.sealed_at, entry.snapshot, weeks, gone))
        previous = dict(entry.weeks)
    return msgspec.json.encode(_Stored(stored), order="sorted") + b"\n"


def decode_seals(data: bytes, origin: str) -> list[SealEntry]:
    """Decode the entries of an alpha.

    Parameters
    ----------
    data : bytes
        Result of :func:`encode_seals`.
    origin : str
        Name of the file, for messages.

    Returns
    -------
    list of SealEntry
        In the order in which the seals were built.

    Raises
    ------
    SnapshotCorrupt
        When the bytes have another format.
    """
    entries, weeks = list[SealEntry](), dict[str, SealedWeek]()
    try:
        for stored in msgspec.json.decode(data, type=_Stored).seals:
            kept = {week: own for week, own in weeks.items() if week not in stored.gone}
            weeks = {**kept, **stored.weeks}
            entries.append(SealEntry(stored.seal_digest, stored.sealed_at, stored.snapshot, weeks))
    except ValueError as error:
        raise SnapshotCorrupt(
            f"{origin} is not a record of earlier seals: {error}; restore it from a backup, or remove it to start "
            f"the history of the alpha from scratch"
        ) from error
    return entries


def _compared(earlier: Collection[str], later: Collection[str], end: int) -> set[str]:
    """Return the compared weeks: those settled in both seals, missing from the later, or inserted into the earlier."""
    before, after = _settled(earlier, end), _settled(later, end)
    dropped = before.difference(later)
    inserted = {week for week in after.difference(earlier) if before and min(before) < week < max(before)}
    return before & after | dropped | inserted


def _settled(weeks: Collection[str], end: int) -> set[str]:
    return set(sorted(weeks)[: len(weeks) - end])


def _differs(earlier: SealedWeek | None, later: SealedWeek | None, part: str) -> bool:
    before = None if earlier is None else getattr(earlier, part)
    after = None if later is None else getattr(later, part)
    # Data that the earlier seal did not have are not restated, but an inserted week is.
    return bool(before != after and (before is not None or earlier is None))


def _mean_ic(weeks: Mapping[str, SealedWeek], measured: Collection[str]) -> float | None:
    ics = [weeks[week].ic for week in sorted(measured) if week in weeks]
    values = [ic for ic in ics if ic is not None]
    return fmean(values) if values else None
