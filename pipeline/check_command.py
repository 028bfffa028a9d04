"""``alpha-results check``: every rule on one or more seals, without publishing them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, BuildCrashed, InternalFailure, SealRefused
from schemas.settings.options import option

if TYPE_CHECKING:
    from pipeline.rules.report import Report


@click.command()
@click.argument("seals", nargs=-1, required=True, metavar="SEAL…")
@click.option("--strict", is_flag=True, help="Also refuse a seal with warnings.")
@option("seal_keys")
@option("prices")
@click.option(
    "--verbose", is_flag=True, help="Show every figure and every broken row, not only the first five."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.pass_context
def check(
    context: click.Context,
    *,
    seals: tuple[str, ...],
    strict: bool,
    seal_keys: str | None,
    prices: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check each SEAL, a folder or the URL of a supported store, against every rule. No file is written.

    Seals are checked in a separate process, which is restarted if a seal crashes it, so no seal affects the others.

    Notices never refuse a seal, not even with --strict; docs/notices.md lists them.

    Exit code, the highest of all seals: 0 accepted, 1 refused (with --strict also for warnings), 2 unreadable (no finished
    seal, or no permission), 5 store unavailable, 7 a bug in the check.
    """
    from pipeline.batch.process import LocalExecutor, ProcessDied
    from pipeline.progress import Display
    from pipeline.rules.layout import print_lines, report_lines
    from pipeline.seal.store import shown_address
    from schemas.console.screen import Screen

    console = Screen()
    outcomes: list[dict[str, Any]] = []
    exit_code = 0
    with Display(Screen(stderr=True), hidden=as_json) as display, closing(LocalExecutor(1)) as executor:
        for address in seals:
            shown = shown_address(address)
            show = partial(display.stage, shown, total=len(seals))
            try:
                checked: Report | AlphaResultsError = executor.call(
                    check_seal, address, verbose, seal_keys, prices, on_step=show
                )
            except ProcessDied as death:
                checked = BuildCrashed(f"the check's process {death}; the outcome for this seal is unknown")
            with display.set_aside():
                if isinstance(checked, AlphaResultsError):
                    exit_code = max(exit_code, checked.exit_code)
                    internal = {"failure": "internal"} if isinstance(checked, InternalFailure) else {}
                    outcomes.append(
                        {"seal": shown, "error": type(checked).__name__, "message": str(checked)} | internal
                    )
                    if not as_json:
                        echo(f"error: {checked}", err=True)
                else:
                    warned = strict and bool(checked.warnings)
                    exit_code = max(exit_code, SealRefused.exit_code if checked.refused or warned else 0)
                    outcomes.append(checked.to_dict() | ({"refused": True} if warned else {}))
                    if not as_json:
                        lines = report_lines(checked, verbose=verbose, by_address=len(seals) > 1)
                        print_lines(console, lines)
            show(None)
    if as_json:
        echo(json.dumps({"seals": outcomes}, indent=2))
    context.exit(exit_code)


def check_seal(
    address: str, all_rows: bool, seal_keys: str | None, prices: str | None, on_step: Callable[[str], None]
) -> Report | AlphaResultsError:
    """Check one seal in this process; return the error if it cannot be checked.

    Parameters
    ----------
    address
        The seal.
    all_rows
        Whether to report every broken row, rather than the first five.
    seal_keys, prices
        As in :func:`pipeline.snapshot_builder.build_seal`.
    on_step
        Called with the name of each file or rule.
    """
    from pipeline.internal import contained
    from pipeline.rule import Finding, all_examples
    from pipeline.rules import Report, check
    from pipeline.seal import Seal
    from pipeline.seal.signature import read_keys
    from pipeline.seal.store import shown_address

    try:
        with contained("the check"), all_examples() if all_rows else nullcontext():
            keys = None if seal_keys is None else read_keys(seal_keys)
            return check(Seal.open(address), on_step, keys=keys, prices=prices)
    except SealRefused as refusal:
        violations = tuple(Finding(kind="", **violation) for violation in refusal.violations)
        return Report(shown_address(address), None, violations=violations)
    except AlphaResultsError as error:
        return error
