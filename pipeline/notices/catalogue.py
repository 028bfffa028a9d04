"""Notices on a run beside others of its catalogue: prices and returns that most of them contradict."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from datasets.figures.series import Flags, Floats
from datasets.layout import ALPHAS, PROBE, pointer_path, snapshot_path
from datasets.pointer import Pointer
from datasets.storage import Storage
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from pipeline.notices.probe import Probe, ProbeDamaged, Sample
from schemas.errors import AlphaResultsError
from schemas.kinds import ALPHA_ID
from schemas.notices import CELL_TOLERANCE, MAX_OTHER_RUNS, MIN_OTHER_RUNS, MIN_SHARED_CELLS, TOO_FEW_OTHERS

_COMPARED: Final = {
    "catalogue.prices": (("marks", "mids"), "prices"),
    "catalogue.forward_returns": (("forward_returns",), "forward returns"),
}
"""Notice -> samples that it compares, and what they are."""
_FOLDER: Final = "alpha_id="


def of_the_catalogue(storage: Storage, alpha_id: str, probe: Probe) -> tuple[NoticeOutcome, ...]:
    """Compare a run with up to 32 others that are served. Nothing is raised: a notice never fails a build.

    Parameters
    ----------
    storage
        The datasets root.
    alpha_id, probe
        The run that is to be published.
    """
    try:
        others = served_probes(storage, alpha_id)
    except (AlphaResultsError, OSError, ProbeDamaged) as error:
        reason = f"the other runs of the catalogue could not be read: {type(error).__name__}"
        return tuple(not_checked(notice, reason) for notice in _COMPARED)
    return tuple(compare(probe, others))


def served_probes(storage: Storage, alpha_id: str) -> dict[str, Probe]:
    """Read the probes of other runs that are served.

    Which are read follows from a digest of both names: in a large catalogue each run is compared with others, so that
    all of them are seen by some. One without a probe, or with a damaged one, is left out.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    names = (name.removeprefix(_FOLDER) for name in storage.folders(ALPHAS) if name.startswith(_FOLDER))
    others = sorted(
        (name for name in names if name != alpha_id and ALPHA_ID.match(name)),
        key=lambda name: zlib.crc32(f"{alpha_id} {name}".encode()),
    )[:MAX_OTHER_RUNS]
    if len(others) < MIN_OTHER_RUNS:
        return {}
    paths = {}
    pointers = storage.read_many([pointer_path(name) for name in others])
    for name, data in zip(others, pointers.values(), strict=True):
        pointer = None if data is None else _pointer(data, name)
        if pointer is not None and not pointer.is_withdrawn:
            paths[f"{snapshot_path(name, pointer.snapshot)}/{PROBE}"] = name
    probes = {}
    for path, data in storage.read_many(list(paths)).items():
        if data is not None:
            try:
                probes[paths[path]] = Probe.decode(data)
            except ProbeDamaged:
                continue  # `verify` tells of it
    return dict(sorted(probes.items()))


def _pointer(data: bytes, name: str) -> Pointer | None:
    try:
        return Pointer.decode(data, name)
    except AlphaResultsError:
        return None


def compare(probe: Probe, others: Mapping[str, Probe]) -> Iterator[NoticeOutcome]:
    """Judge how much of a run is contradicted by others that agree.

    Parameters
    ----------
    probe
        Of the run.
    others
        Alpha -> probe.
    """
    for notice, (samples, what) in _COMPARED.items():
        own = [getattr(probe, name) for name in samples]
        if not sum(int((~np.isnan(sample.returns)).sum()) for sample in own):
            yield not_checked(notice, f"the run has no {what} to compare")
            continue
        names = list(others)
        if len(names) < MIN_OTHER_RUNS:
            yield not_checked(notice, TOO_FEW_OTHERS)
            continue
        compared, contradicted, against = _cells(
            own, [[getattr(others[x], y) for y in samples] for x in names]
        )
        if compared < MIN_SHARED_CELLS:
            yield not_checked(notice, TOO_FEW_OTHERS)
            continue
        share = contradicted / compared
        outcome = judged(notice, share, "", cells=compared)
        if outcome.message is None:
            alphas = [name for name, (shared, _) in zip(names, against, strict=True) if shared]
        else:
            alphas = [name for name, (_, opposed) in zip(names, against, strict=True) if opposed]
        yield judged(
            notice,
            share,
            f"{share:.0%} of {compared} {what} that it shares with other runs are contradicted by {', '.join(alphas)}, "
            "which agree with each other.",
            cells=compared,
            alphas=alphas,
        )


def _cells(own: list[Sample], others: list[list[Sample]]) -> tuple[int, int, list[tuple[bool, bool]]]:
    """Count the cells that could be compared and that are contradicted, and say which runs share and contradict some."""
    compared = contradicted = 0
    shares, opposes = np.zeros(len(others), np.bool_), np.zeros(len(others), np.bool_)
    for place, sample in enumerate(own):
        mine = ~np.isnan(sample.returns)
        theirs = np.array([other[place].on(sample)[mine] for other in others]).reshape(len(others), -1)
        known, wrong, agree = contradictions(sample.returns[mine], theirs)
        compared, contradicted = compared + int(known.sum()), contradicted + int(wrong.sum())
        shares |= (~np.isnan(theirs) & known).any(axis=1)
        opposes |= (agree & wrong).any(axis=1)
    return compared, contradicted, list(zip(shares.tolist(), opposes.tolist(), strict=True))


def contradictions(own: Floats, others: Floats) -> tuple[Flags, Flags, Flags]:
    """Find what most of the others contradict.

    Parameters
    ----------
    own
        One value a cell, shape (cells,).
    others
        Shape (runs, cells); NaN where a run has none.

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
    agreeing = agree.sum(axis=0)
    known = enough & (agreeing >= MIN_OTHER_RUNS) & (2 * agreeing > number)
    return known, known & (np.abs(own - median) > CELL_TOLERANCE), agree
