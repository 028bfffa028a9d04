"""The declarations."""

from __future__ import annotations

from typing import Final

from schemas.settings.connections import CONNECTIONS
from schemas.settings.keys_and_limits import KEYS_AND_LIMITS
from schemas.settings.readers import DURATION, SWITCH, TEXTFILE, make_choice, seconds, text, whole
from schemas.settings.setting import Group, Setting

_PORT: Final = 65535

GROUPS: Final = (
    Group(
        "Both programs",
        "Where the published data is.",
        (
            Setting(
                "datasets",
                text("path or URL"),
                "Root of the published datasets.",
                required=True,
            ),
            Setting(
                "archives",
                text("path or URL"),
                "Where source archives are delivered, and what `serve` signs downloads of: s3://bucket/prefix, whose "
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
                "cache",
                text("path"),
                "Folder for copies of a remote root's files; needed when the datasets are in an object store.",
            ),
            Setting(
                "cache_bytes",
                whole(1, 2**62),
                "How much that folder may hold; what was used longest ago makes room for what is new.",
                default=20_000_000_000,
            ),
            Setting(
                "rows",
                text("path"),
                "Folder for rendered rows, which all serving processes of the machine share and which a restart finds "
                "again; for the serving user alone. Where it cannot be used, rows are in the memory of each process.",
                otherwise="`.rows` in `cache`; without one, `alpha-results/rows` in the user's cache folder",
            ),
            Setting(
                "rows_bytes",
                whole(0, 2**62),
                "How much that folder may hold; what was used longest ago makes room for what is new. 0 leaves rows in "
                "the memory of each process.",
                default=20_000_000_000,
            ),
            Setting(
                "neighbours",
                text("path"),
                "Folder for the daily returns that neighbours are searched in, some 18 kB for an alpha of 1,500 sessions, "
                "which all serving processes of the machine share and which a restart finds again; for the serving user alone. "
                "It is filled when neighbours are first asked for.",
                otherwise="`.returns` in `cache`; without one, `alpha-results/returns` in the user's cache folder",
            ),
            Setting(
                "verify_seconds",
                seconds(0, 31_536_000),
                "How long the digest of a published file is trusted once a process has computed it, as long as the "
                "file's size, modification time and inode stay the same; 0 computes it each time the file is opened.",
                default=86_400.0,
            ),
            Setting(
                "market_data",
                text("path or URL"),
                "Parquet file, or folder of them, with the prices of the benchmarks.",
                otherwise="no benchmarks",
            ),
            Setting(
                "factors",
                text("path or URL"),
                "Parquet file with the daily returns of factors, that `/exposures` explains books by.",
                otherwise="no factors",
            ),
            Setting(
                "archives_public_endpoint",
                text("URL"),
                "Where callers reach the archives: their store; or of a folder an https host that passes `/files/` on to "
                "this service, without which source downloads are not configured.",
                otherwise="where this service reaches their store",
            ),
            Setting(
                "datasets_public_endpoint",
                text("URL"),
                "Where callers reach the object store of the datasets, which answers the links of whole tables.",
                otherwise="where this service does",
            ),
            Setting(
                "public_url",
                text("URL"),
                "Where callers reach this service, for the links of files it signs; name it behind a proxy.",
                otherwise="the Host of the request, over http, or https where a trusted proxy says so",
            ),
            Setting(
                "link_bytes_per_hour",
                whole(1, 2**62),
                "How many bytes a serving process sends within an hour by the links of one key; then they answer 429 "
                "`link_bytes_exceeded`.",
                default=100_000_000_000,
            ),
            Setting("host", text("address"), "Address to listen on.", default="127.0.0.1"),
            Setting(
                "port",
                whole(0, _PORT),
                "Port to listen on; 0 takes a free one.",
                default=8000,
            ),
            Setting(
                "workers",
                whole(1, 256),
                "Serving processes; more than one needs a limiter they share.",
                default=1,
            ),
            Setting(
                "threads",
                whole(0, 1024),
                "Answers of one key that a process computes at a time; 0 takes one a core. One thread more is for "
                "those of other keys.",
                default=0,
            ),
            Setting(
                "max_waiting_answers",
                whole(1, 1_000_000),
                "Answers that wait for a compute thread of a process; one more is refused with 503 `overloaded`. A key has "
                "half of them at most.",
                default=256,
            ),
            Setting(
                "max_wait_seconds",
                seconds(0.05, 3600.0),
                "How long an answer waits for a compute thread before it is refused with 503 `overloaded`.",
                default=10.0,
            ),
            Setting(
                "memory_bytes",
                whole(0, 2**62),
                "How many bytes finished bodies, indexes, and rendered rows that have no folder may take in each process; 0 takes "
                "a quarter of the memory there is, shared between the workers.",
                default=0,
            ),
            Setting(
                "refresh_seconds",
                seconds(0.05, 3600),
                "How often the catalogue is looked at for new snapshots.",
                default=1.0,
            ),
            Setting(
                "list_seconds",
                seconds(0, 3600),
                "How long the pointers need not be listed while nothing says that one moved, `index/moved` in an "
                "object store or the time of a folder; 0 lists them at every look.",
                default=30.0,
            ),
            Setting(
                "drain_delay_seconds",
                seconds(0, 3600),
                "How long the port stays open after the first signal to end, `/ready` saying `draining`, for load "
                "balancers to notice.",
                default=0.0,
            ),
            Setting(
                "drain_seconds",
                seconds(0.05, 3600),
                "How long requests in flight may take to finish at shutdown.",
                default=20.0,
            ),
            Setting(
                "metrics_port",
                whole(0, _PORT),
                "Port of /metrics, /ready and /live; 0 takes a free one.",
                otherwise="none, nothing is measured",
            ),
            Setting(
                "metrics_host",
                text("address"),
                "Address that port listens on. It knows no keys: open it to the monitoring only.",
                default="127.0.0.1",
            ),
            Setting(
                "build",
                text(),
                "Version string of this build, part of every ETag.",
                otherwise="the project's version",
            ),
            Setting(
                "api_docs",
                make_choice("on", "off"),
                "Whether the OpenAPI document (/openapi.json) and an interactive page of it (/docs) are served, to "
                "anyone and without a key; off makes them paths like any that is not there.",
                default="on",
            ),
            Setting(
                "explorer",
                SWITCH,
                "Serve the explorer at /explorer, and lead / to it: a page that shows results in a browser, to the "
                "visitor's key. The page itself needs none; off makes its paths like any that is not there.",
                default=False,
            ),
            Setting(
                "agents",
                SWITCH,
                "Serve tools for agents at /mcp, by the Model Context Protocol, to the same keys; needs the extra `agents`.",
                default=False,
            ),
            Setting(
                "log_level",
                make_choice("debug", "info", "warning", "error"),
                "Least severe log line written: debug, info, warning or error. The line of each request is info.",
                default="info",
            ),
            Setting(
                "log_format",
                make_choice("auto", "json", "console"),
                "How log lines are written: json, console, or auto, which is json off a terminal.",
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
                "seals",
                text("path or URL"),
                "Look for seals below this folder or prefix of a bucket, and build those that are new or changed. "
                "Seals named on the command line win over the variable.",
                own_flag="--from",
            ),
            Setting(
                "jobs",
                whole(1, 256),
                "Builds at a time, a process each.",
                otherwise="1, and on a cluster as many as there are places",
            ),
            Setting(
                "interval",
                seconds(0.1, 604_800),
                "Pause between two looks of --watch.",
                default=60.0,
            ),
            Setting(
                "seal_keys",
                text("path"),
                "File with the public keys of the teams that hand over seals: `check` and `build` refuse a seal that "
                "none of them signed. On a cluster it lies at the same path on every worker.",
                otherwise="nobody has to sign",
            ),
            Setting(
                "late_seconds",
                seconds(0, 604_800),
                "How long --watch tries a seal again whose files come after its seal.json; the pauses between "
                "tries double.",
                default=21_600.0,
            ),
            Setting(
                "cluster_seconds",
                seconds(1, 86_400),
                "How long the scheduler may be silent, or without a worker that can build, before the batch ends.",
                default=60.0,
            ),
            Setting(
                "cluster",
                text("tcp://…"),
                "Build on the workers of this Dask scheduler.",
                otherwise="this machine",
            ),
            Setting(
                "single_writer",
                SWITCH,
                "Publish to a store that does not honour conditional writes, on your word that no other build, "
                "rollback or gc writes to the root meanwhile; builds then go one at a time.",
                default=False,
            ),
            Setting(
                "archive_exclude",
                text("patterns"),
                "Source files to leave out of archives, as shell patterns separated by commas; with + first, "
                "beside the defaults.",
                own_flag="--exclude",
            ),
            Setting(
                "metrics_file",
                TEXTFILE,
                "File for the build's metrics in Prometheus' text format, replaced whole after every look, for "
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
                "gc_grace",
                DURATION,
                "The least time for which `gc` keeps a snapshot after it was replaced: a client that names it in "
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
            Setting("webhook", text("URL"), "Receives events as CloudEvents."),
            Setting(
                "webhook_secret",
                text(),
                "Signs them, as Standard Webhooks does.",
                secret=True,
                own_flag="",
            ),
            Setting("lineage", text("URL"), "Receives OpenLineage run events."),
            Setting(
                "lineage_token",
                text(),
                "Bearer token for that address.",
                secret=True,
                own_flag="",
            ),
        ),
    ),
)

SETTINGS: Final = {setting.name: setting for group in GROUPS for setting in group.settings}
"""Name -> declaration."""
