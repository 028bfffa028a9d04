"""``alpha-results notify``: send the events since the last run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.housekeeping.command_line import json_option, opened, print_json, root_option
from schemas.console.terminal import echo
from schemas.errors import SettingsError, SnapshotCorrupt
from schemas.plurals import counted
from schemas.settings import SETTINGS, setting_value
from schemas.settings.options import option

if TYPE_CHECKING:
    from datasets.manifest import Manifest
    from datasets.storage import Storage
    from pipeline.events.event import Event


@click.command()
@root_option
@click.option(
    "--state",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Records which events were delivered. The first run only creates it; later runs send the events since then.",
)
@option("webhook")
@option("lineage")
@click.option(
    "--from-start", is_flag=True, help="Let the first run send every event that the root still records."
)
@json_option
def notify(
    *,
    root: str,
    state: Path,
    webhook: str | None,
    lineage: str | None,
    from_start: bool,
    as_json: bool,
) -> None:
    """Send publications, withdrawals, rollbacks and refusals that were not sent yet, oldest first.

    Events are derived from the root, so a killed process or an unavailable receiver loses none; an event may be sent twice,
    with the same id. Run it after each batch, or by a timer.

    Exit code: 0, 2 for invalid settings, 4 when the pointer of an alpha cannot be read (the events of the others are sent), 5
    when the store is unavailable or the file of --state cannot be written, 6 when a receiver did not take an event.
    """
    from datasets.catalogue.live import Catalogue
    from pipeline.batch.refusals import read_refusals
    from pipeline.events.delivery import Delivered, require_token, require_url, send
    from pipeline.events.event import cloud_event, derive, lineage_event
    from pipeline.seal.store import shown_address

    if webhook is None and lineage is None:
        raise SettingsError("name a receiver: --webhook or --lineage")
    receivers = {
        option: require_url(option, url)
        for option, url in (("--webhook", webhook), ("--lineage", lineage))
        if url is not None
    }
    secret, token = (
        setting_value(SETTINGS[name], os.environ) for name in ("webhook_secret", "lineage_token")
    )
    require_token(SETTINGS["lineage_token"].variable, token)
    storage = opened(root)
    catalogue = Catalogue(storage)
    catalogue.refresh()
    listing = catalogue.listing
    events = derive((*listing.pointers, *listing.unserved), read_refusals(storage))
    for alpha, reason in catalogue.broken.items():
        echo(f"error: {reason}; the events of {alpha} wait until its pointer is repaired", err=True)
    source = shown_address(root)
    sent = 0
    with Delivered(state) as delivered:
        if not delivered.started:
            delivered.start(() if from_start else (event.id for event in events))
        missing = delivered.missing({event.id for event in events}, complete=not catalogue.broken)
        for recorded in events:
            if recorded.id not in missing:
                continue
            manifest = _manifest(storage, recorded)
            event = recorded if manifest is None else replace(recorded, seal=manifest.seal_digest)
            if "--webhook" in receivers:
                document: Any = cloud_event(event, source)
                media = "application/cloudevents+json"
                send(receivers["--webhook"], event.id, document, media_type=media, secret=secret)
            checks = () if manifest is None else manifest.checks
            run = lineage_event(event, source, checks) if "--lineage" in receivers else None
            if run is not None:
                send(receivers["--lineage"], event.id, run, media_type="application/json", token=token)
            delivered.add([event.id])
            sent += 1
    if as_json:
        print_json({"sent": sent, "remembered": len(events)})
    else:
        echo(f"{counted(sent, 'event')} sent, {len(events)} recorded in the root")
    click.get_current_context().exit(SnapshotCorrupt.exit_code if catalogue.broken else 0)


def _manifest(storage: Storage, event: Event) -> Manifest | None:
    """Return the manifest of the snapshot that an event serves; None without one, or if it is gone or damaged."""
    from datasets.provenance.integrity import read_manifests

    if event.alpha_id is None or event.snapshot is None:
        return None
    return read_manifests(storage, event.alpha_id, [event.snapshot]).get(event.snapshot)
