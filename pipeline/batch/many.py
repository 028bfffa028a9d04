"""Builds for programs that orchestrate them: many seals, and each one's result as soon as it is known.

The command ``build`` prints what this yields. Nothing is printed here, no signal is caught, and each build is a process
of its own, so a worker of an orchestrator can call it like any function.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TypeAlias

from datasets.storage import open_storage, require_supported
from pipeline.archive.exclusions import exclusions
from pipeline.batch.batch import Batch
from pipeline.batch.cancellation import Cancellation
from pipeline.batch.request import Request
from pipeline.batch.result import SealResult
from pipeline.batch.run import OnStage, Run
from pipeline.folder import require_folder
from pipeline.seal.signature import read_keys
from schemas.errors import SettingsError

Address: TypeAlias = "str | os.PathLike[str]"
"""A folder, or the URL of a supported store."""


def build_many(
    seals: Iterable[Address],
    root: Address,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    cluster_seconds: float = 60.0,
    force: bool = False,
    strict: bool = False,
    seal_keys: Address | None = None,
    archives: Address | None = None,
    exclude: str | None = None,
    single_writer: bool = False,
    cancellation: Cancellation | None = None,
    on_stage: OnStage | None = None,
) -> Generator[SealResult]:
    """Check the seals named and publish them, several at a time; yield each one's result as soon as it is known.

    A seal that fails stops no other. Building what is served already is no failure and costs next to nothing, so a call
    that was cut off is simply made again. Closing the iterator, or an exception in the loop over it, kills what is at
    work; `cancellation` also ends it gently.

    Parameters
    ----------
    seals
        Addresses of finished seals.
    root
        Of the datasets.
    jobs
        Builds at a time; None is one on this machine, and as many as there are places on a cluster.
    cluster, cluster_seconds
        Address of a Dask scheduler to build on, and how long it may be silent.
    force, strict, seal_keys, archives, exclude, single_writer
        As the flags of ``build``; `exclude` are patterns separated by commas.
    cancellation
        Ends the builds from another thread.
    on_stage
        Called with a seal's address and the stage of its build, from another thread; with None when it is done. It
        must not raise.

    Yields
    ------
    SealResult
        One for each seal, in the order they end; none for no seals. Of seals that had no turn because the batch was ended
        it says so. Nothing is raised for a seal: see :meth:`~pipeline.batch.result.SealResult.raise_for_failure`.

    Raises
    ------
    SettingsError
        At the call, when an address or an option makes no sense.
    StorageUnavailable
        When the datasets root or the scheduler does not answer at the beginning.
    """
    if isinstance(seals, str | os.PathLike):
        raise SettingsError("seals: give a list of addresses, or build_from for a folder that holds some")
    request = _request(
        root,
        jobs,
        cluster,
        force=force,
        strict=strict,
        seal_keys=seal_keys,
        archives=archives,
        exclude=exclude,
        single_writer=single_writer,
    )
    batch = Batch(
        request,
        tuple(os.fspath(seal) for seal in seals),
        None,
        jobs,
        cluster,
        as_json=True,
        cluster_seconds=cluster_seconds,
    )
    return _results(batch, cancellation, on_stage)


def build_from(
    folder: Address,
    root: Address,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    cluster_seconds: float = 60.0,
    force: bool = False,
    strict: bool = False,
    seal_keys: Address | None = None,
    archives: Address | None = None,
    exclude: str | None = None,
    single_writer: bool = False,
    recheck: bool = False,
    cancellation: Cancellation | None = None,
    on_stage: OnStage | None = None,
) -> Generator[SealResult]:
    """Publish the latest seal of each alpha below a folder or prefix; yield a result for every seal that is there.

    As ``build --from``: what is served already, older or known to be refused is not built, and is reported so.

    Parameters
    ----------
    folder
        Where engines write their seals, at any depth.
    recheck
        Whether seals are checked again that an earlier batch refused.
    root, jobs, cluster, cluster_seconds, force, strict, seal_keys, archives, exclude, single_writer, cancellation, on_stage
        As of :func:`build_many`.

    Yields
    ------
    SealResult
        As of :func:`build_many`; results of seals that needed nothing come last.

    Raises
    ------
    SettingsError
        When an address or an option makes no sense, or the folder does not exist.
    StorageUnavailable
        When a store or the scheduler does not answer at the beginning.
    """
    request = _request(
        root,
        jobs,
        cluster,
        force=force,
        strict=strict,
        seal_keys=seal_keys,
        archives=archives,
        exclude=exclude,
        single_writer=single_writer,
    )
    batch = Batch(
        request,
        (),
        os.fspath(folder),
        jobs,
        cluster,
        as_json=True,
        recheck=recheck,
        cluster_seconds=cluster_seconds,
    )
    return _results(batch, cancellation, on_stage)


def _request(
    root: Address,
    jobs: int | None,
    cluster: str | None,
    *,
    force: bool,
    strict: bool,
    seal_keys: Address | None,
    archives: Address | None,
    exclude: str | None,
    single_writer: bool,
) -> Request:
    """Make the request that all seals have in common, and refuse options that no build could be made with."""
    if jobs is not None and jobs < 1:
        raise SettingsError(f"jobs: {jobs} is not a number of builds; give 1 or more")
    if single_writer and (cluster is not None or jobs not in {None, 1}):
        raise SettingsError("single_writer builds one seal at a time: leave out jobs and cluster")
    address = os.fspath(root)
    require_folder(
        open_storage(address), "root", "give the folder to publish to, which is made if need be", made=True
    )
    stored = None if archives is None else os.fspath(archives)
    if stored is not None:
        require_supported(stored)
    keys = None if seal_keys is None else str(Path(seal_keys).absolute())
    if keys is not None:
        read_keys(keys)
    return Request("", address, force, stored, tuple(exclusions(exclude)), single_writer, strict, keys)


def _results(
    batch: Batch, cancellation: Cancellation | None, on_stage: OnStage | None
) -> Generator[SealResult]:
    with Run(batch, cancellation or Cancellation(), on_stage) as run:
        run.scan()
        for step in run.steps():
            yield SealResult.from_outcome(step.outcome)
