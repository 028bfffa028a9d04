"""``alpha-results reconcile``: compare the figures of a seal or a served alpha with its tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from schemas.errors import SealUnreadable
from schemas.exit_codes import ExitCode
from schemas.screen import Screen
from schemas.settings.declared import SETTINGS
from schemas.terminal import echo

if TYPE_CHECKING:
    from pipeline.rules import Report

_DATASETS = SETTINGS["datasets"]


@click.command()
@click.argument("what", metavar="SEAL|ALPHA")
@click.option(
    _DATASETS.flag,
    "root",
    envvar=_DATASETS.variable,
    metavar=_DATASETS.kind.type.upper(),
    help="The datasets root that serves ALPHA.",
)
@click.option("--strict", is_flag=True, help="Also fail for a figure that is not reproduced, or any warning.")
@click.option("--verbose", is_flag=True, help="Show every figure and every broken row.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def reconcile(
    context: click.Context, *, what: str, root: str | None, strict: bool, verbose: bool, as_json: bool
) -> None:
    """Compare every figure of a SEAL, or of a served ALPHA, with its tables.

    Checks the ledger's identities, and the run's own figures under each documented convention. For a served ALPHA the
    published tables of --datasets are read. No file is written.

    Exit code: 0 when all of it holds, 1 when an identity is broken (with --strict also when a figure is not
    reproduced), 2 when there is neither such a seal nor such an alpha, 4 when a file is damaged, 5 when the store is
    unavailable.
    """
    from pipeline.internal import contained
    from pipeline.rule import all_examples
    from pipeline.rules.layout import report_layout

    with contained("the reconciliation"):
        if verbose:
            with all_examples():
                report = _report(what, root)
        else:
            report = _report(what, root)
    if as_json:
        echo(json.dumps(report.to_dict(), indent=2))
    else:
        Screen().print(report_layout(report, verbose=verbose), soft_wrap=True)
    context.exit(ExitCode.REFUSED if report.refused or (strict and report.warnings) else 0)


def _report(what: str, root: str | None) -> Report:
    from pipeline.housekeeping.reconcile_published import check_snapshot
    from pipeline.rules import check
    from pipeline.seal import Seal
    from pipeline.seal.store import without_secrets

    try:
        return check(Seal.open(what))
    except SealUnreadable as error:
        if root is None:
            raise
        report = check_snapshot(root, what)
        if report is None:
            shown = without_secrets(what)
            raise SealUnreadable(f"{shown} is neither a seal nor an alpha that is served: {error}") from error
        return report
