"""All groups of settings."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from schemas.settings.connections import CONNECTIONS
from schemas.settings.keys_and_limits import KEYS_AND_LIMITS
from schemas.settings.readers import DURATION, SWITCH, TEXTFILE, integer, make_choice, seconds, text
from schemas.settings.setting import PREFIX, Group, Setting

_PORT: Final = 65535
_SIMILAR: Final = 0.75
"""Minimum similarity (0 to 1) to a declared variable at which an unknown variable counts as misspelt."""

GROUPS: Final = (
    Group(
        "Both programs",
        "Location of the published data.",
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
                "Where source archives are stored: s3://bucket/prefix, whose links point to the store, or a "
                "folder, whose links `serve` answers itself; a folder needs `archives_public_endpoint`.",
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
                "Folder for copies of a remote root's files; required with datasets in an object store.",
            ),
            Setting(
                "cache_bytes",
                integer(1, 2**62),
                "Maximum size of that folder; the least recently used files are evicted.",
                default=20_000_000_000,
            ),
            Setting(
                "rows",
                text("path"),
                "Private folder for rendered rows, shared by all serving processes of the machine and reused "
                "after a restart. If it cannot be used, each process keeps rows in memory.",
                otherwise="`.rows` in `cache`; without one, `alpha-results/rows` in the user's cache folder",
            ),
            Setting(
                "rows_bytes",
                integer(0, 2**62),
                "Maximum size of that folder; the least recently used tables are evicted. 0 keeps rows in the "
                "memory of each process.",
                default=20_000_000_000,
            ),
            Setting(
                "neighbours",
                text("path"),
                "Private folder for the daily returns that neighbours are searched in, some 18 kB for an alpha "
                "of 1,500 sessions, shared by all serving processes of the machine and reused after a restart. "
                "It is filled when neighbours are first requested.",
                otherwise="`.returns` in `cache`; without one, `alpha-results/returns` in the user's cache folder",
            ),
            Setting(
                "verify_seconds",
                seconds(0, 31_536_000),
                "How long a computed digest of a published file is trusted while the file's size, modification "
                "time and inode stay the same; 0 computes it each time the file is opened.",
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
                "Parquet file with the daily returns of the factors of `/exposures`.",
                otherwise="no factors",
            ),
            Setting(
                "archives_public_endpoint",
                text("URL"),
                "Where callers reach the archives: their store; or, for a folder, an https host that passes "
                "`/files/` on to this service, without which source downloads are not configured.",
                otherwise="where this service reaches their store",
            ),
            Setting(
                "datasets_public_endpoint",
                text("URL"),
                "Where callers reach the object store of the datasets, for links to tables.",
                otherwise="where this service reaches it",
            ),
            Setting(
                "public_url",
                text("URL"),
                "Where callers reach this service, for the links that it signs; set it behind a proxy.",
                otherwise="the Host of the request, with http, or https if a trusted proxy says so",
            ),
            Setting(
                "link_bytes_per_hour",
                integer(1, 2**62),
                "How many bytes a serving process sends per hour for the links of one key; then it answers 429 "
                "`link_bytes_exceeded`.",
                default=100_000_000_000,
            ),
            Setting("host", text("address"), "Address to listen on.", default="127.0.0.1"),
            Setting(
                "port",
                integer(0, _PORT),
                "Port to listen on; 0 takes a free one.",
                default=8000,
            ),
            Setting(
                "workers",
                integer(1, 256),
                "Serving processes; more than one needs Redis for the limits.",
                default=1,
            ),
            Setting(
                "threads",
                integer(0, 1024),
                "Answers of one key that a process computes at a time; 0 means one per core. One more thread is "
                "reserved for other keys.",
                default=0,
            ),
            Setting(
                "max_waiting_answers",
                integer(1, 1_000_000),
                "Answers that may wait for a compute thread of a process; beyond that, calls get 503 "
                "`overloaded`. A key may use half of them.",
                default=256,
            ),
            Setting(
                "max_wait_seconds",
                seconds(0.05, 3600),
                "How long an answer waits for a compute thread before it is refused with 503 `overloaded`.",
                default=10.0,
            ),
            Setting(
                "memory_bytes",
                integer(0, 2**62),
                "Maximum memory of each process for finished bodies, indexes, and rendered rows without a "
                "folder; 0 takes a quarter of the available memory, shared between the workers.",
                default=0,
            ),
            Setting(
                "refresh_seconds",
                seconds(0.05, 3600),
                "How often to look for new snapshots.",
                default=1.0,
            ),
            Setting(
                "list_seconds",
                seconds(0, 3600),
                "How long to rely on a change hint (`index/moved` in an object store, the time of a local "
                "folder) before all pointers are listed again; 0 lists them at every refresh.",
                default=30.0,
            ),
            Setting(
                "drain_delay_seconds",
                seconds(0, 3600),
                "How long the port stays open after the first SIGTERM, while `/ready` says `draining`, so that "
                "load balancers notice.",
                default=0.0,
            ),
            Setting(
                "drain_seconds",
                seconds(0.05, 3600),
                "How long running requests may take to finish at shutdown.",
                default=20.0,
            ),
            Setting(
                "metrics_port",
                integer(0, _PORT),
                "Port of /metrics, /ready and /live; 0 takes a free one.",
                otherwise="no metrics",
            ),
            Setting(
                "metrics_host",
                text("address"),
                "Address of that port. It requires no key: open it to the monitoring only.",
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
                "Serve the OpenAPI document (/openapi.json), Swagger UI (/docs) and the widgets of OpenBB Workspace "
                "(/widgets.json) to anyone, without a key; off makes these paths 404.",
                default="on",
            ),
            Setting(
                "explorer",
                SWITCH,
                "Serve the explorer, a page that shows results in a browser, at /explorer, and redirect / to "
                "it. The page needs no key, its data need the visitor's; off makes its paths 404.",
                default=False,
            ),
            Setting(
                "agents",
                SWITCH,
                "Serve tools for agents at /mcp by the Model Context Protocol, for the same keys; needs the "
                "extra `agents`.",
                default=False,
            ),
            Setting(
                "log_level",
                make_choice("debug", "info", "warning", "error"),
                "Lowest level to log: debug, info, warning or error. Requests are logged at info.",
                default="info",
            ),
            Setting(
                "log_format",
                make_choice("auto", "json", "console"),
                "Format of log lines: json, console, or auto, which is console on a terminal and json "
                "otherwise.",
                default="auto",
            ),
        ),
    ),
    CONNECTIONS,
    KEYS_AND_LIMITS,
    Group(
        "Publishing",
        "Read by `alpha-results build`; `check` also reads `--seal-keys` and `--prices`, and all commands that move a pointer "
        "`--single-writer`.",
        (
            Setting(
                "seals",
                text("path or URL"),
                "Search this folder or prefix for seals, and build new and changed ones. Seals named on the "
                "command line take precedence over the variable.",
                own_flag="--from",
            ),
            Setting(
                "jobs",
                integer(1, 256),
                "Number of builds that run in parallel, each in its own process.",
                otherwise="1; on a cluster, one per thread of its workers",
            ),
            Setting(
                "interval",
                seconds(0.1, 604_800),
                "Pause between two searches of --watch.",
                default=60.0,
            ),
            Setting(
                "seal_keys",
                text("path"),
                "File with the public keys of the teams that hand over seals: `check` and `build` refuse a seal "
                "that none of them signed. On a cluster every worker needs it at the same path.",
                otherwise="seals need no signature",
            ),
            Setting(
                "prices",
                text("path or URL"),
                "Parquet file, or folder of them, with the market prices of the names in the universe: `check` and "
                "`build` compare seals with them and give notices, group `market`. On a cluster every worker needs "
                "it at the same address.",
                otherwise="seals are not compared with a market",
            ),
            Setting(
                "cluster_seconds",
                seconds(1, 86_400),
                "How long the scheduler may fail to answer, or have no usable worker, before the batch ends.",
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
                "Publish to a store without conditional writes. You must ensure that no other build, rollback "
                "or gc writes to the root meanwhile; builds run one at a time.",
                default=False,
            ),
            Setting(
                "archive_exclude",
                text("patterns"),
                "Source files to leave out of archives: shell patterns separated by commas, in place of the "
                "defaults, or in addition to them after a leading +.",
                own_flag="--exclude",
            ),
            Setting(
                "metrics_file",
                TEXTFILE,
                "File for the build's metrics in Prometheus' text format, replaced atomically, for a node "
                "exporter's textfile folder; its name ends in .prom.",
                otherwise="no file",
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
                "Minimum time for which `gc` keeps a replaced snapshot, so that clients that pin it can finish, "
                "such as 90s, 30m, 12h or 7d.",
                otherwise="1d",
                own_flag="--grace",
            ),
        ),
    ),
    Group(
        "Events",
        "Read by `alpha-results notify`. Secrets have no flags, because flags are visible in process lists.",
        (
            Setting("webhook", text("URL"), "Receives events as CloudEvents."),
            Setting(
                "webhook_secret",
                text(),
                "Secret that signs events, by Standard Webhooks.",
                secret=True,
                own_flag="",
            ),
            Setting("lineage", text("URL"), "Receives OpenLineage run events."),
            Setting(
                "lineage_token",
                text(),
                "Bearer token for the lineage service.",
                secret=True,
                own_flag="",
            ),
        ),
    ),
)

SETTINGS: Final = {setting.name: setting for group in GROUPS for setting in group.settings}
"""Name -> declaration."""


def misspelt_variables(environment: Mapping[str, str]) -> list[str]:
    """Return one sentence for each variable that looks like a misspelt setting.

    Other variables with the project's prefix are ignored, since deployments may define their own.
    """
    known = [setting.variable for setting in SETTINGS.values()]
    names = [name.removeprefix(PREFIX) for name in known]
    return [
        f"{variable} is not a setting, so it is ignored; did you mean {PREFIX}{near[0]}?"
        for variable in sorted(environment)
        if variable.startswith(PREFIX)
        and variable not in known
        and (near := get_close_matches(variable.removeprefix(PREFIX), names, 1, _SIMILAR))
    ]
