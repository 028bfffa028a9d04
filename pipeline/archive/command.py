"""``alpha-results archive``: deliver the source archives of seals, for instance after a failure."""

from __future__ import annotations

import sys
from typing import Any

import click
import orjson

from schemas.errors import AlphaResultsError, ArchiveNotDelivered
from schemas.settings.options import option
from schemas.terminal import echo


@click.command("archive")
@click.argument("seals", nargs=-1, required=True, metavar="SEAL…")
@option("datasets", "root")
@option("archives", required=True)
@option("archive_exclude", "exclude")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON report instead of lines.")
@click.pass_context
def archive(  # noqa: PLR0917 -- click passes every option by name
    context: click.Context,
    seals: tuple[str, ...],
    root: str,
    archives: str,
    exclude: str | None,
    as_json: bool,
) -> None:
    """Package the source of each SEAL and deliver the archive, whether or not its data are published.

    Delivered archives are not uploaded again. Exit code: 0 when every archive is delivered (or the run sealed no source), 6 when one
    was not, else that of the first seal that cannot be opened.
    """
    from datasets.archives import FAILED
    from datasets.storage import open_storage, require_supported
    from pipeline.archive.exclusions import exclusions
    from pipeline.archive.package import describe_archive, package
    from pipeline.folder import require_folder
    from pipeline.seal import Seal

    patterns = exclusions(exclude)
    require_supported(archives)
    storage = require_folder(
        open_storage(root),
        "--datasets",
        "give the folder of the published datasets, which is made if need be",
        made=True,
    )
    outcomes: list[dict[str, Any]] = []
    exit_code = 0
    for address in seals:
        try:
            state = package(Seal.open(address), storage, archives, exclude=patterns)
        except AlphaResultsError as error:
            exit_code = exit_code or error.exit_code
            outcomes.append({"seal": address, "outcome": "failed", "message": str(error)})
        else:
            outcomes.append({"seal": address, **describe_archive(state)})
            if state is not None and state.status == FAILED:
                exit_code = exit_code or ArchiveNotDelivered.exit_code
        if not as_json:
            last = outcomes[-1]
            echo(f"{address}: {last['message']}", err=last["outcome"] == "failed")
    if as_json:
        sys.stdout.buffer.write(orjson.dumps({"seals": outcomes}, option=orjson.OPT_INDENT_2) + b"\n")
    context.exit(exit_code)
