"""``alpha-results build``: publish the named seals, or all due ones, as snapshots."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from schemas.settings.options import option


@click.command()
@click.argument("seals", nargs=-1, metavar="[SEAL]…")
@option("datasets", "root")
@click.option(
    "--force",
    is_flag=True,
    help="Publish even if a later seal is served or this one was rolled back; replace damaged files of a served seal.",
)
@click.option("--strict", is_flag=True, help="Also refuse a seal with warnings.")
@option("seal_keys")
@option("prices")
@option("archives")
@option("archive_exclude", "exclude")
@option("seals", "searched")
@option("jobs")
@option("single_writer")
@click.option("--watch", is_flag=True, help="Keep following --from until SIGTERM or Ctrl-C.")
@option("interval")
@click.option("--recheck", is_flag=True, help="Check seals of --from again that were refused before.")
@option("cluster")
@option("cluster_seconds")
@option("metrics_file")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a line of JSON for each result, and a last one with the counts.",
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

    A seal that breaks a rule is not published and does not stop the others; neither does a build that crashes,
    which is tried once more. Each build is a separate process. --from builds the latest seal of each alpha and skips
    seals that are served, older or rolled back; a seal is finished once its seal.json exists. SIGTERM lets running
    builds finish; Ctrl-C or a second SIGTERM ends them at once.

    Exit code: 0 when every seal is served, or a --watch was ended; else the code of the first failure (1 refused, 2
    unreadable or published while --exclude leaves no source file, 3 older than the served seal or rolled back, 4 a
    damaged pointer, 5 store unavailable or disk full, 6 published without its source archive, 7 crashed); 130 when the
    batch was ended before every seal was built and none failed; 8 when the only failures are seals that an earlier
    command refused.
    """
    from pipeline.batch.batch import Batch
    from pipeline.batch.command_line import build_once, follow
    from pipeline.batch.output import Output
    from schemas.errors import AlphaResultsError, StorageUnavailable

    context = click.get_current_context()
    if seals and context.get_parameter_source("searched") is ParameterSource.ENVIRONMENT:
        searched = None  # seals named on the command line take precedence over the setting
    if bool(seals) == (searched is not None):
        raise click.UsageError("give either seals, or --from with a folder or prefix that holds seals")
    if watch and searched is None:
        raise click.UsageError("--watch follows a folder or prefix: give it with --from")
    if not watch and context.get_parameter_source("interval") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--interval is the pause between two searches of --watch: give both")
    metrics = None
    if metrics_file is not None:
        from pipeline.batch.metrics_file import MetricsFile

        metrics = MetricsFile(metrics_file)
    try:
        # Checked before a seal is read or a process started: an invalid root cannot be published to.
        batch = Batch(root=root, root_option="--datasets", seals=seals, searched=searched, **options)
        output = Output(batch, as_json=as_json, metrics=metrics, endless=watch)
        context.exit(follow(batch, output, interval) if watch else build_once(batch, output))
    except AlphaResultsError as error:
        if metrics is not None:
            metrics.scanned(worked=not isinstance(error, StorageUnavailable))
            metrics.ended(error.exit_code)
        raise
