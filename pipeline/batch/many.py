"""Python API of batches: yields the result of each seal as soon as it is known.

The command ``build`` prints what this yields. These functions print nothing and catch no signals, and each build runs in
its own process, so a worker of an orchestrator can call them like any function.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from typing import TypedDict, Unpack

from pipeline.batch.batch import Address, Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.result import SealResult
from pipeline.batch.run import BatchRun
from schemas.errors import SettingsError


class BuildOptions(TypedDict, total=False):
    """Options of :class:`pipeline.batch.batch.Batch`, by keyword."""

    jobs: int | None
    cluster: str | None
    cluster_seconds: float
    force: bool
    strict: bool
    seal_keys: Address | None
    prices: Address | None
    archives: Address | None
    exclude: str | None
    single_writer: bool


def build_many(
    seals: Iterable[Address],
    root: Address,
    *,
    cancellation: Cancellation | None = None,
    **options: Unpack[BuildOptions],
) -> Generator[SealResult]:
    """Check and publish the given seals in parallel; yield each result as soon as it is known.

    A failed seal does not stop the others. Seals already served are skipped, so an interrupted
    call can simply be repeated. Closing the iterator, or an exception in the loop over it, kills running
    builds; `cancellation` can also let them finish.

    Parameters
    ----------
    seals
        Addresses of finished seals.
    root
        Datasets root.
    cancellation
        Ends the builds from another thread.
    **options
        See :class:`pipeline.batch.batch.Batch`.

    Yields
    ------
    SealResult
        One per seal, in order of completion. A seal that a cancelled batch never started gets a result that says so. A
        failed seal raises no exception: see :meth:`~pipeline.batch.result.SealResult.raise_for_failure`.

    Raises
    ------
    SettingsError
        When the function is called with an invalid address or option.
    StorageUnavailable
        When the datasets root or the scheduler does not answer at the start.
    """
    if isinstance(seals, str | os.PathLike):
        raise SettingsError("seals: give a list of addresses, or call build_from for a folder of seals")
    batch = Batch(root=root, seals=tuple(os.fspath(seal) for seal in seals), **options)
    return _results(batch, cancellation)


def build_from(
    folder: Address,
    root: Address,
    *,
    recheck: bool = False,
    cancellation: Cancellation | None = None,
    **options: Unpack[BuildOptions],
) -> Generator[SealResult]:
    """Publish the latest seal of each alpha below a folder or prefix; yield a result for every seal.

    As ``build --from``: seals that are already served, older than the served one or known to be refused are not built; their
    results come last. Everything else is as in :func:`build_many`.

    Parameters
    ----------
    folder
        Folder or prefix to which engines write seals, at any depth.
    recheck
        Whether to check seals again that an earlier batch refused.

    Raises
    ------
    SettingsError
        Also when the folder does not exist.
    """
    batch = Batch(root=root, searched=os.fspath(folder), recheck=recheck, **options)
    return _results(batch, cancellation)


def _results(batch: Batch, cancellation: Cancellation | None) -> Generator[SealResult]:
    with BatchRun(batch, cancellation or Cancellation()) as run:
        run.scan()
        for step in run.steps():
            yield step.result
