"""``python -m pipeline build``: publish seals as snapshots, a few or all that are due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from pipeline.archive import exclusions
from pipeline.batch.report import print_document, tell
from pipeline.batch.request import Outcome, Request, built, failed
from pipeline.batch.run import Batch, build_once, follow
from pipeline.build import build_seal
from schemas.errors import AlphaResultsError


@click.command()
@click.argument("seals", nargs=-1, metavar="[SEAL]…")
@click.option(
    "--datasets",
    "root",
    required=True,
    envvar="ALPHA_RESULTS_DATASETS",
    show_envvar=True,
    help="Root to publish under: a folder or an fsspec URL.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Publish although a later seal is served or this one was rolled back; of what is served, replace damaged files.",
)
@click.option(
    "--archives",
    envvar="ALPHA_RESULTS_ARCHIVES",
    show_envvar=True,
    help="Where source archives are delivered: an fsspec URL such as s3://bucket/prefix, or a folder.",
)
@click.option(
    "--exclude",
    envvar="ALPHA_RESULTS_ARCHIVE_EXCLUDE",
    show_envvar=True,
    help="Source files to leave out of archives, as shell patterns separated by commas; with + first, beside the defaults.",
)
@click.option(
    "--from",
    "searched",
    metavar="ROOT",
    help="Look for seals below this folder or fsspec URL, and build those that are new or changed.",
)
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Builds at a time, a process each.",
)
@click.option("--watch", is_flag=True, help="Keep following --from until SIGTERM or Ctrl-C.")
@click.option(
    "--interval",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="Seconds between two looks of --watch.",
)
@click.option("--cluster", metavar="tcp://…", help="Build on the workers of this Dask scheduler.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON report instead of tables.")
def build(
    *,
    seals: tuple[str, ...],
    root: str,
    force: bool,
    archives: str | None,
    exclude: str | None,
    searched: str | None,
    jobs: int | None,
    watch: bool,
    interval: float,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Check each SEAL and publish it as an immutable snapshot under the datasets root.

    A seal that breaks a rule publishes nothing and does not stop the others; neither does a build that crashes,
    which is tried once more. With --from, --jobs or --cluster each build is a process of its own, and a summary
    follows the last. --from builds the latest seal of each alpha and leaves alone what is served already, older than
    that, or rolled back; a seal counts once its seal.json is there. Ctrl-C and SIGTERM let what is at work finish, a
    second one ends it at once.

    Exit code: 0 when every seal is published or was already, and of a --watch that was asked to end; else that of
    the first failure (1 refused, 2 unreadable, 3 older than what is served or rolled back, 4 a damaged pointer, 5
    store away or disk full, 6 published but its source archive was not delivered, 7 crashed), and 130 when the
    batch was ended before every seal had its turn.
    """
    patterns = exclusions(exclude)
    if bool(seals) == (searched is not None):
        raise click.UsageError(
            "name seals, or give --from a folder or prefix that holds some; one of the two"
        )
    if watch and searched is None:
        raise click.UsageError("--watch follows a folder or prefix: give it with --from")
    common = Request("", root, force, archives, tuple(patterns))
    context = click.get_current_context()
    if searched is None and jobs in {None, 1} and cluster is None:
        context.exit(_build_here(seals, common, as_json=as_json))
    batch = Batch(common, seals, searched, jobs, cluster, as_json)
    context.exit(follow(batch, interval) if watch else build_once(batch))


def _build_here(seals: tuple[str, ...], common: Request, *, as_json: bool) -> int:
    """Build a few seals one after the other in this process, which tells their stages as they go."""
    screen = Console(stderr=True)
    entries: list[dict[str, Any]] = []
    exit_code = 0
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=as_json or not screen.is_terminal,
    ) as progress:
        for address in seals:
            task = progress.add_task(address)

            def show(stage: str, address: str = address, task: TaskID = task) -> None:
                progress.update(task, description=f"{address}: {stage}")

            outcome = _build(replace(common, seal=address), show)
            progress.remove_task(task)
            exit_code = exit_code or outcome.exit_code
            entries.append(outcome.entry)
            if not as_json:
                tell(screen, outcome)
    if as_json:
        print_document(entries)
    return exit_code


def _build(request: Request, on_stage: Callable[[str], None]) -> Outcome:
    try:
        result = build_seal(
            request.seal,
            request.root,
            force=request.force,
            archives=request.archives,
            exclude=request.exclude,
            on_stage=on_stage,
        )
    except AlphaResultsError as error:
        return failed(request.seal, error)
    return built(request.seal, result)
