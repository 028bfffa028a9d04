"""The `simulate` command: writes seals of simulated runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from examples.reference_engine.alpha import DEFAULT_ALPHAS, FEWEST_NAMES, FEWEST_WEEKS
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.errors import DiskUnavailable, SettingsError
from schemas.settings.options import WholeNumber


@click.command("simulate")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into."
)
@click.option("--seed", type=WholeNumber(min=0), default=1, show_default=True, help="Seed of the market.")
@click.option(
    "--names",
    type=WholeNumber(min=FEWEST_NAMES),
    default=100,
    show_default=True,
    help="Simulated securities.",
)
@click.option(
    "--weeks", type=WholeNumber(min=FEWEST_WEEKS), default=104, show_default=True, help="Weekly decisions."
)
@click.option(
    "--replace",
    is_flag=True,
    help="Overwrite the result of other options or another release, unless it was changed since.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def simulate(*, out: Path, seed: int, names: int, weeks: int, replace: bool, as_json: bool) -> None:
    """Write complete seals of alphas run on a simulated market, and a simulated benchmark.

    No real security is described. The same options give the same bytes. A folder that already holds their
    result is reported as reused, an interrupted simulation is started again, and a folder with any other
    content is refused.

    Exit code: 0, 2 for a folder that cannot be used, 5 when it cannot be written.
    """
    from examples.reference_engine.run import already_simulated
    from examples.reference_engine.run import simulate as simulate_alphas

    try:
        reused = already_simulated(out, seed=seed, names=names, weeks=weeks)
        seals = reused or simulate_alphas(out, seed=seed, names=names, weeks=weeks, replace_unchanged=replace)
    except NotADirectoryError as error:
        raise SettingsError(f"--out: {out} is below a file; name another folder") from error
    except OSError as error:
        raise DiskUnavailable(f"{error.filename or out} cannot be written: {error.strerror}") from error
    outcome = "written" if reused is None else "reused"
    if as_json:
        echo(json.dumps({"status": outcome, "out": str(out), "seals": [str(seal) for seal in seals]}))
    elif sys.stdout.isatty():
        table = make_table("alpha", "signal", "seal", title=f"Simulated runs in {out}: {outcome}")
        for spec, seal in zip(DEFAULT_ALPHAS, seals, strict=True):
            table.add_row(spec.alpha_id, spec.signal, str(seal))
        Screen().print(table)
    elif reused is not None:
        # Without a terminal success prints nothing, but a reused folder is reported.
        echo(f"reused {out}")
