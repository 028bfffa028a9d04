"""``alpha-results build``: publish the named seals, or all due ones, as snapshots."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from schemas.settings.options import option, switch_option


@click.command()
@click.argument("seals", nargs=-1, metavar="[SEAL]…")
@option("datasets", "root")
@click.option(
    "--force",
    is_flag=True,
    help="Publish although a later seal is served or this one was rolled back; of what is served, replace damaged files.",
)
@click.option("--strict", is_flag=True, help="Refuse a seal of which the check only warns.")
@option("seal_keys")
@option("archives")
@option("archive_exclude", "exclude")
@option("seals", "searched")
@option("jobs")
@switch_option("single_writer")
@click.option("--watch", is_flag=True, help="Keep following --from until SIGTERM or Ctrl-C.")
@option("interval")
@click.option("--recheck", is_flag=True, help="Check seals of --from again that are remembered as refused.")
@option("cluster")
@option("cluster_seconds")
@option("metrics_file")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a line of JSON for each seal as it is known, with its time, and the counts in a last one.",
)
def build(
    *,
    seals: tuple[str, ...],
    root: str,
    searched: str | None,
    watch: bool,
    interval: float,
    metrics_file: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Check each SEAL and publish it as an immutable snapshot under the datasets root.

    A seal that breaks a rule publishes nothing and does not stop the others; neither does a build that crashes,
    which is tried once more. Each build is a process of its own; but for a single seal that is named, a summary
    follows the last. --from builds the latest seal of each alpha and leaves alone what is served already, older than
    that, or rolled back; a seal counts once its seal.json is there. SIGTERM lets what is at work finish; Ctrl-C, and a
    second SIGTERM, end it at once.

    Exit code: 0 when every seal is published or was already, and of a --watch that was ended; else that of
    the first failure (1 refused, 2 unreadable, 3 older than what is served or rolled back, 4 a damaged pointer, 5
    store away or disk full, 6 published but its source archive was not delivered, 7 crashed), 130 when the batch was
    ended before every seal had its turn and none failed, and 8 when nothing is wrong but seals that an earlier command
    refused already.
    """
    from pipeline.batch.batch import make_batch
    from pipeline.batch.command_line import build_once, follow
    from pipeline.batch.output import Output
    from schemas.errors import AlphaResultsError, StorageUnavailable

    context = click.get_current_context()
    if seals and context.get_parameter_source("searched") is ParameterSource.ENVIRONMENT:
        searched = None  # seals named on the command line take precedence over the setting
    if bool(seals) == (searched is not None):
        raise click.UsageError(
            "name seals, or give --from a folder or prefix that holds some; one of the two"
        )
    if watch and searched is None:
        raise click.UsageError("--watch follows a folder or prefix: give it with --from")
    metrics = None
    if metrics_file is not None:
        from pipeline.batch.metrics_file import MetricsFile

        metrics = MetricsFile(metrics_file)
    try:
        # Before a seal is read or a process started, because no seal could be published there.
        batch = make_batch(root, "--datasets", seals=seals, searched=searched, **options)
        output = Output(batch, as_json=as_json, metrics=metrics, endless=watch)
        context.exit(follow(batch, output, interval) if watch else build_once(batch, output))
    except AlphaResultsError as error:
        if metrics is not None:
            metrics.scanned(worked=not isinstance(error, StorageUnavailable))
            metrics.ended(error.exit_code)
        raise
