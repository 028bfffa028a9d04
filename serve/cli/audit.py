"""`audit`: who did what."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from serve.cli.session import administer, json_option, print_json, print_table, store_options


@click.group(invoke_without_command=True)
@click.option("--subject", metavar="ID", help="Only what was done to this key or account id.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1), help="Rows at most.")
@json_option
@store_options
def audit(
    access_url: str | None, datasets: str | None, as_json: bool, subject: str | None, limit: int
) -> None:
    """Show the audit log, newest first. Its rows can be neither changed nor removed."""
    entries = administer(
        access_url, datasets, lambda a: a.audit_log.entries(subject=subject, limit=limit), writable=False
    )
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    print_table(
        ("id", "at", "actor", "action", "subject", "detail"),
        [
            (str(x.id), x.at, x.actor, x.action, x.subject, json.dumps(x.detail, ensure_ascii=False))
            for x in entries
        ],
    )
