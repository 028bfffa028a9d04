"""Notices from the comparison with other runs: prices and returns that most of them contradict."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from datasets.figures.series import Flags, Floats
from datasets.layout import CATALOG, PROBE, by_alpha, pointer_path, snapshot_path
from datasets.pointer import Pointer
from datasets.storage import Storage
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from pipeline.notices.probe import Probe, ProbeDamaged, Sample
from schemas.errors import AlphaResultsError
from schemas.notices.catalogue import (
    CELL_TOLERANCE,
    MAX_OTHER_RUNS,
    MIN_NAME_CELLS,
    MIN_OTHER_RUNS,
    MIN_SHARED_CELLS,
    TOO_FEW_OTHERS,
)

_PRICES: Final = "catalogue.prices"
_ONE_NAME: Final = "catalogue.one_name"
_COMPARED: Final = {
    _PRICES: (("marks", "mids"), "prices"),
    "catalogue.forward_returns": (("forward_returns",), "forward returns"),
}
"""Notice -> samples to compare, and the noun for them in messages."""
_MAX_POINTERS: Final = 256
"""Maximum pointers read in search of served runs: those of withdrawn alphas remain in the catalogue."""


def catalogue_notices(storage: Storage, alpha_id: str, probe: Probe) -> tuple[NoticeOutcome, ...]:
    """Compare a run with up to 32 other served runs. Never raises, because a notice must not fail a build.

    Parameters
    ----------
    storage
        The datasets root.
    alpha_id, probe
        Address and probe of the run to publish.
    """
    try:
        others = served_probes(storage, alpha_id)
    except (AlphaResultsError, OSError, ProbeDamaged) as error:
        reason = f"the other runs of the catalogue could not be read: {type(error).__name__}"
        return tuple(outcome for notice in _COMPARED for outcome in _not_compared(notice, reason))
    return tuple(compare(probe, others))


def served_probes(storage: Storage, alpha_id: str) -> dict[str, Probe]:
    """Read the probes of other runs that are served.

    A digest of both names selects the runs: in a large catalogue each run has its own selection, so that every run is
    compared with some. Runs without a probe, or with a damaged one, are skipped.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    others = sorted(
        (name for name in by_alpha(storage.entries(CATALOG)) if name != alpha_id),
        key=lambda name: zlib.crc32(f"{alpha_id} {name}".encode()),
    )[:_MAX_POINTERS]
    if len(others) < MIN_OTHER_RUNS:
        return {}
    paths: dict[str, str] = {}
    for start in range(0, len(others), MAX_OTHER_RUNS):
        names_read = others[start : start + MAX_OTHER_RUNS]
        pointers = storage.read_many([pointer_path(name) for name in names_read])
        for name, data in zip(names_read, pointers.values(), strict=True):
            pointer = None if data is None else _pointer(data, name)
            if pointer is not None and not pointer.is_withdrawn:
                paths[f"{snapshot_path(name, pointer.snapshot)}/{PROBE}"] = name
        if len(paths) >= MAX_OTHER_RUNS:
            break
    probes = {}
    for path, data in storage.read_many(list(paths)[:MAX_OTHER_RUNS]).items():
        if data is not None:
            try:
                probes[paths[path]] = Probe.decode(data)
            except ProbeDamaged:
                continue  # `verify` reports the damage
    return dict(sorted(probes.items()))


def _pointer(data: bytes, name: str) -> Pointer | None:
    try:
        return Pointer.decode(data, name)
    except AlphaResultsError:
        return None


def compare(probe: Probe, others: Mapping[str, Probe]) -> Iterator[NoticeOutcome]:
    """Judge how much of a run is contradicted by other runs that agree.

    Parameters
    ----------
    probe
        Probe of the run.
    others
        Alpha -> probe, for the other runs.
    """
    for notice, (samples, noun) in _COMPARED.items():
        own = [getattr(probe, name) for name in samples]
        if not sum(int((~np.isnan(sample.returns)).sum()) for sample in own):
            yield from _not_compared(notice, f"the run has no {noun} to compare")
            continue
        names = list(others)
        cells = _cells(own, [[getattr(others[x], y) for y in samples] for x in names])
        if cells.compared < MIN_SHARED_CELLS:
            yield from _not_compared(notice, TOO_FEW_OTHERS)
            continue
        share = cells.contradicted / cells.compared
        against = cells.shares if judged(notice, share, "").message is None else cells.contradicts
        alphas = [name for name, concerned in zip(names, against, strict=True) if concerned]
        message = (
            f"{share:.0%} of {cells.compared} {noun} that it shares with other runs are contradicted by {', '.join(alphas)}, "
            "which agree with each other."
        )
        yield judged(notice, share, message, cells=cells.compared, alphas=alphas)
        if notice == _PRICES:
            sharing = [name for name, shared in zip(names, cells.shares, strict=True) if shared]
            yield _judge_one_name(cells, sharing)


def _not_compared(notice: str, reason: str) -> Iterator[NoticeOutcome]:
    yield not_checked(notice, reason)
    if notice == _PRICES:
        yield not_checked(_ONE_NAME, reason)


def _judge_one_name(cells: _Cells, alphas: list[str]) -> NoticeOutcome:
    """Judge the name that other runs contradict most."""
    shares = {
        name: wrong / known for name, (known, wrong) in cells.by_name.items() if known >= MIN_NAME_CELLS
    }
    if not shares:
        # It names the other runs: a reader who may read none of them must not learn of them.
        reason = f"no name has {MIN_NAME_CELLS} sessions that other runs share"
        return not_checked(_ONE_NAME, reason, alphas=alphas)
    worst = max(shares, key=lambda name: (shares[name], name))
    known = cells.by_name[worst][0]
    message = f"{shares[worst]:.0%} of {known} prices of {worst} are contradicted by other runs, which agree with each other."
    return judged(_ONE_NAME, shares[worst], message, symbol=worst, cells=known, alphas=alphas)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Names and periods that a run shares with others.

    Attributes
    ----------
    compared, contradicted
        Number of cells compared, and of those that the others contradict.
    shares, contradicts
        Whether each other run shares a cell, and contradicts one.
    by_name
        Name -> cells compared, and contradicted.
    """

    compared: int
    contradicted: int
    shares: list[bool]
    contradicts: list[bool]
    by_name: Mapping[str, tuple[int, int]]


def _cells(own: list[Sample], others: list[list[Sample]]) -> _Cells:
    shares, contradicts = np.zeros(len(others), np.bool_), np.zeros(len(others), np.bool_)
    compared, contradicted = Counter[str](), Counter[str]()
    for place, sample in enumerate(own):
        present = ~np.isnan(sample.returns)
        theirs = np.array([other[place].on(sample)[present] for other in others])
        theirs = theirs.reshape(len(others), int(present.sum()))
        known, wrong, agree = contradictions(sample.returns[present], theirs)
        name = np.nonzero(present)[0]
        for counted, cells in ((compared, known), (contradicted, wrong)):
            number = np.bincount(name[cells], minlength=len(sample.names))
            counted.update(dict(zip(sample.names, number.tolist(), strict=True)))
        shares |= (~np.isnan(theirs) & known).any(axis=1)
        contradicts |= (agree & wrong).any(axis=1)
    return _Cells(
        compared.total(),
        contradicted.total(),
        shares.tolist(),
        contradicts.tolist(),
        {name: (number, contradicted[name]) for name, number in compared.items()},
    )


def contradictions(own: Floats, others: Floats) -> tuple[Flags, Flags, Flags]:
    """Find the values that most of the others contradict.

    Parameters
    ----------
    own
        One value per cell, shape (cells,).
    others
        Values of the other runs, shape (runs, cells); NaN where missing.

    Returns
    -------
    known : Flags, shape (cells,)
        Whether at least three others, and most of those that have a value, agree within the tolerance.
    wrong : Flags, shape (cells,)
        Whether these contradict the run's own value.
    agree : Flags, shape (runs, cells)
        Which runs agree with the median of the others.
    """
    number = (~np.isnan(others)).sum(axis=0)
    enough = number >= MIN_OTHER_RUNS
    median = np.full(own.size, np.nan)
    if enough.any():
        median[enough] = np.nanmedian(others[:, enough], axis=0)
    agree = np.abs(others - median) <= CELL_TOLERANCE
    n_agreeing = agree.sum(axis=0)
    known = enough & (n_agreeing >= MIN_OTHER_RUNS) & (2 * n_agreeing > number)
    return known, known & (np.abs(own - median) > CELL_TOLERANCE), agree
