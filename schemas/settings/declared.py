"""The declarations."""

from __future__ import annotations

from typing import Final

from schemas.settings.compute import COMPUTE
from schemas.settings.connections import CONNECTIONS
from schemas.settings.keys_and_limits import KEYS_AND_LIMITS
from schemas.settings.readers import (
    duration,
    make_choice,
    seconds,
    switch,
    text,
    textfile,
    whole,
)
from schemas.settings.setting import Group, Setting

_PORT: Final = 65535

GROUPS: Final = (
    Group(
        "Both programs",
        "Where the published data is.",
        (
            Setting(
                name="datasets",
                read=text,
                type="path or URL",
                meaning="Root of the published datasets.",
                required=True,
            ),
            Setting(
                name="archives",
                read=text,
                type="path or URL",
                meaning="Where source archives are delivered, and what `serve` signs downloads of: s3://bucket/prefix, whose "
                "store answers them, or a folder, which `serve` reads; it needs `archives_public_endpoint`.",
                otherwise="no archives",
            ),
        ),
    ),
    Group(
        "Serving",
        "Read by `alpha-results serve run`.",
        (
            Setting(
                name="cache",
                read=text,
                type="path",
                meaning="Folder for copies of a remote root's files; needed when the datasets are in an object store.",
            ),
            Setting(
                name="cache_bytes",
                read=whole(1, 2**62),
                type="integer",
                meaning="How much that folder may hold; what was used longest ago makes room for what is new.",
                default=20_000_000_000,
            ),
            Setting(
                name="rows",
                read=text,
                type="path",
                meaning="Folder for rendered rows, which all serving processes of the machine share and which a restart finds "
                "again; for the serving user alone. Where it cannot be used, rows are in the memory of each process.",
                otherwise="`.rows` in `cache`; without one, `alpha-results/rows` in the user's cache folder",
            ),
            Setting(
                name="rows_bytes",
                read=whole(0, 2**62),
                type="integer",
                meaning="How much that folder may hold; what was used longest ago makes room for what is new. 0 leaves rows in "
                "the memory of each process.",
                default=20_000_000_000,
            ),
            Setting(
                name="neighbours",
                read=text,
                type="path",
                meaning="Folder for the daily returns that neighbours are searched in, some 18 kB for an alpha of 1,500 sessions, "
                "which all serving processes of the machine share and which a restart finds again; for the serving user alone. "
                "It is filled when neighbours are first asked for.",
                otherwise="`.returns` in `cache`; without one, `alpha-results/returns` in the user's cache folder",
            ),
            Setting(
                name="verify_seconds",
                read=seconds(0, 31_536_000),
                type="seconds",
                meaning="How long the digest of a published file is trusted once a process has computed it, as long as the "
                "file's size, modification time and inode stay the same; 0 computes it each time the file is opened.",
                default=86_400.0,
            ),
            Setting(
                name="market_data",
                read=text,
                type="path or URL",
                meaning="Parquet file, or folder of them, with the prices of the benchmarks.",
                otherwise="no benchmarks",
            ),
            Setting(
                name="factors",
                read=text,
                type="path or URL",
                meaning="Parquet file with the daily returns of factors, that `/exposures` explains books by.",
                otherwise="no factors",
            ),
            Setting(
                name="archives_public_endpoint",
                read=text,
                type="URL",
                meaning="Where callers reach the archives: their store; or of a folder an https host that passes `/files/` on to "
                "this service, without which source downloads are not configured.",
                otherwise="where this service reaches their store",
            ),
            Setting(
                name="datasets_public_endpoint",
                read=text,
                type="URL",
                meaning="Where callers reach the object store of the datasets, which answers the links of whole tables.",
                otherwise="where this service does",
            ),
            Setting(
                name="public_url",
                read=text,
                type="URL",
                meaning="Where callers reach this service, for the links of files it signs; name it behind a proxy.",
                otherwise="the Host of the request, over http, or https where a trusted proxy says so",
            ),
            Setting(
                name="link_bytes_per_hour",
                read=whole(1, 2**62),
                type="integer",
                meaning="How many bytes a serving process sends within an hour by the links of one key; then they answer 429 "
                "`link_bytes_exceeded`.",
                default=100_000_000_000,
            ),
            Setting(
                name="host", read=text, type="address", meaning="Address to listen on.", default="127.0.0.1"
            ),
            Setting(
                name="port",
                read=whole(0, _PORT),
                type="integer",
                meaning="Port to listen on; 0 takes a free one.",
                default=8000,
            ),
            Setting(
                name="workers",
                read=whole(1, 256),
                type="integer",
                meaning="Serving processes; more than one needs a limiter they share.",
                default=1,
            ),
            *COMPUTE,
            Setting(
                name="memory_bytes",
                read=whole(0, 2**62),
                type="integer",
                meaning="How many bytes finished bodies, indexes, and rendered rows that have no folder may take in each process; 0 takes "
                "a quarter of the memory there is, shared between the workers.",
                default=0,
            ),
            Setting(
                name="refresh_seconds",
                read=seconds(0.05, 3600),
                type="seconds",
                meaning="How often the catalogue is looked at for new snapshots.",
                default=1.0,
            ),
            Setting(
                name="list_seconds",
                read=seconds(0, 3600),
                type="seconds",
                meaning="How long the pointers need not be listed while nothing says that one moved, `index/moved` in an "
                "object store or the time of a folder; 0 lists them at every look.",
                default=30.0,
            ),
            Setting(
                name="drain_delay_seconds",
                read=seconds(0, 3600),
                type="seconds",
                meaning="How long the port stays open after the first signal to end, `/ready` saying `draining`, for load "
                "balancers to notice.",
                default=0.0,
            ),
            Setting(
                name="drain_seconds",
                read=seconds(0.05, 3600),
                type="seconds",
                meaning="How long requests in flight may take to finish at shutdown.",
                default=20.0,
            ),
            Setting(
                name="metrics_port",
                read=whole(0, _PORT),
                type="integer",
                meaning="Port of /metrics, /ready and /live; 0 takes a free one.",
                otherwise="none, nothing is measured",
            ),
            Setting(
                name="metrics_host",
                read=text,
                type="address",
                meaning="Address that port listens on. It knows no keys: open it to the monitoring only.",
                default="127.0.0.1",
            ),
            Setting(
                name="build",
                read=text,
                type="text",
                meaning="Version string of this build, part of every ETag.",
                otherwise="the project's version",
            ),
            Setting(
                name="api_docs",
                read=make_choice("on", "off"),
                type="word",
                meaning="Whether the OpenAPI document (/openapi.json) and an interactive page of it (/docs) are served, to "
                "anyone and without a key; off makes them paths like any that is not there.",
                default="on",
            ),
            Setting(
                name="explorer",
                read=switch,
                type="switch",
                meaning="Serve the explorer at /explorer, and lead / to it: a page that shows results in a browser, to the "
                "visitor's key. The page itself needs none; off makes its paths like any that is not there.",
                default=False,
            ),
            Setting(
                name="agents",
                read=switch,
                type="switch",
                meaning="Serve tools for agents at /mcp, by the Model Context Protocol, to the same keys; needs the extra `agents`.",
                default=False,
            ),
            Setting(
                name="log_level",
                read=make_choice("debug", "info", "warning", "error"),
                type="word",
                meaning="Least severe log line written: debug, info, warning or error. The line of each request is info.",
                default="info",
            ),
            Setting(
                name="log_format",
                read=make_choice("auto", "json", "console"),
                type="word",
                meaning="How log lines are written: json, console, or auto, which is json off a terminal.",
                default="auto",
            ),
        ),
    ),
    CONNECTIONS,
    KEYS_AND_LIMITS,
    Group(
        "Publishing",
        "Read by `alpha-results build`; the patterns by `archive` too, and who writes by all that move a pointer.",
        (
            Setting(
                name="seals",
                read=text,
                type="path or URL",
                meaning="Look for seals below this folder or prefix of a bucket, and build those that are new or changed. "
                "Seals named on the command line win over the variable.",
                own_flag="--from",
            ),
            Setting(
                name="jobs",
                read=whole(1, 256),
                type="integer",
                meaning="Builds at a time, a process each.",
                otherwise="1, and on a cluster as many as there are places",
            ),
            Setting(
                name="interval",
                read=seconds(0.1, 604_800),
                type="seconds",
                meaning="Pause between two looks of --watch.",
                default=60.0,
            ),
            Setting(
                name="seal_keys",
                read=text,
                type="path",
                meaning="File with the public keys of the teams that hand over seals: `check` and `build` refuse a seal that "
                "none of them signed. On a cluster it lies at the same path on every worker.",
                otherwise="nobody has to sign",
            ),
            Setting(
                name="late_seconds",
                read=seconds(0, 604_800),
                type="seconds",
                meaning="How long --watch tries a seal again whose files come after its seal.json; the pauses between "
                "tries double.",
                default=21_600.0,
            ),
            Setting(
                name="cluster_seconds",
                read=seconds(1, 86_400),
                type="seconds",
                meaning="How long the scheduler may be silent, or without a worker that can build, before the batch ends.",
                default=60.0,
            ),
            Setting(
                name="cluster",
                read=text,
                type="tcp://…",
                meaning="Build on the workers of this Dask scheduler.",
                otherwise="this machine",
            ),
            Setting(
                name="single_writer",
                read=switch,
                type="switch",
                meaning="Publish to a store that does not honour conditional writes, on your word that no other build, "
                "rollback or gc writes to the root meanwhile; builds then go one at a time.",
                default=False,
            ),
            Setting(
                name="archive_exclude",
                read=text,
                type="patterns",
                meaning="Source files to leave out of archives, as shell patterns separated by commas; with + first, "
                "beside the defaults.",
                own_flag="--exclude",
            ),
            Setting(
                name="metrics_file",
                read=textfile,
                type="path",
                meaning="File for the build's metrics in Prometheus' text format, replaced whole after every look, for "
                "a node exporter's textfile folder; its name ends in .prom.",
                otherwise="none is written",
            ),
        ),
    ),
    Group(
        "Removing",
        "Read by `alpha-results gc`.",
        (
            Setting(
                name="gc_grace",
                read=duration,
                type="duration",
                meaning="The least time for which `gc` keeps a snapshot after it was replaced: a client that names it in "
                "its requests has this long to finish. 90s, 30m, 12h or 7d.",
                otherwise="1d",
                own_flag="--grace",
            ),
        ),
    ),
    Group(
        "Events",
        "Read by `alpha-results notify`. Secrets are given by their variables alone: flags stand in lists of processes.",
        (
            Setting(name="webhook", read=text, type="URL", meaning="Receives events as CloudEvents."),
            Setting(
                name="webhook_secret",
                read=text,
                type="text",
                meaning="Signs them, as Standard Webhooks does.",
                secret=True,
                own_flag="",
            ),
            Setting(name="lineage", read=text, type="URL", meaning="Receives OpenLineage run events."),
            Setting(
                name="lineage_token",
                read=text,
                type="text",
                meaning="Bearer token for that address.",
                secret=True,
                own_flag="",
            ),
        ),
    ),
)

SETTINGS: Final = {setting.name: setting for group in GROUPS for setting in group.settings}
"""Name -> declaration."""
