"""All groups of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from schemas.errors import SettingsError
from schemas.settings.connections import CONNECTIONS
from schemas.settings.keys_and_limits import KEYS_AND_LIMITS
from schemas.settings.readers import DURATION, TEXTFILE
from schemas.settings.setting import (
    PREFIX,
    Group,
    Setting,
    choice,
    integer,
    location,
    path,
    seconds,
    switch,
    text,
    url,
)

_PORT: Final = (0, 65535)
_BYTES: Final = (1, 2**62)
_BYTES_OR_0: Final = (0, 2**62)
_WAIT: Final = (0.05, 3600)
_SIMILAR: Final = 0.75
"""Minimum similarity (0 to 1) to a declared variable at which an unknown variable counts as misspelt."""

GROUPS: Final = (
    Group(
        "Both programs",
        "Location of the published data.",
        (
            location("datasets", "Root of the published datasets.", required=True),
            location(
                "archives",
                "Where source archives are stored: s3://bucket/prefix, whose links point to the store, or a folder, whose links `serve` "
                "answers itself; a folder needs `archives_public_endpoint`.",
                otherwise="no archives",
            ),
        ),
    ),
    Group(
        "Serving",
        "Read by `alpha-results serve run`.",
        (
            path("cache", "Folder for copies of a remote root's files; required with an object store."),
            integer(
                "cache_bytes",
                _BYTES,
                "Maximum size of that folder; the least recently used files are evicted.",
                default=20_000_000_000,
            ),
            path(
                "rows",
                "Private folder for rendered rows, shared by all serving processes of the machine and reused after a restart. If it "
                "cannot be used, each process keeps rows in memory.",
                otherwise="`.rows` in `cache`; without one, `alpha-results/rows` in the user's cache folder",
            ),
            integer(
                "rows_bytes",
                _BYTES_OR_0,
                "Maximum size of that folder; the least recently used tables are evicted. 0 keeps rows in the memory of each process.",
                default=20_000_000_000,
            ),
            path(
                "neighbours",
                "Private folder for the daily returns that neighbours are searched in, some 18 kB for an alpha of 1,500 sessions, shared "
                "by all serving processes of the machine and reused after a restart. It is filled when neighbours are first requested.",
                otherwise="`.returns` in `cache`; without one, `alpha-results/returns` in the user's cache folder",
            ),
            seconds(
                "verify_seconds",
                (0, 31_536_000),
                "How long a computed digest of a published file is trusted while the file's size, modification time and inode stay the "
                "same; 0 computes it each time the file is opened.",
                default=86_400.0,
            ),
            location(
                "market_data",
                "Parquet file, or folder of them, with the prices of the benchmarks.",
                otherwise="no benchmarks",
            ),
            location(
                "factors",
                "Parquet file with the daily returns of the factors of `/exposures`.",
                otherwise="no factors",
            ),
            url(
                "archives_public_endpoint",
                "Where callers reach the archives: their store; or, for a folder, an https host that passes `/files/` on to this service, "
                "without which source downloads are not configured.",
                otherwise="where this service reaches their store",
            ),
            url(
                "datasets_public_endpoint",
                "Where callers reach the object store of the datasets, for links to tables.",
                otherwise="where this service reaches it",
            ),
            url(
                "public_url",
                "Where callers reach this service, for the links that it signs; set it behind a proxy.",
                otherwise="the Host of the request, with http, or https if a trusted proxy says so",
            ),
            integer(
                "link_bytes_per_hour",
                _BYTES,
                "How many bytes a serving process sends per hour for the links of one key; then it answers 429 `link_bytes_exceeded`.",
                default=100_000_000_000,
            ),
            text("host", "Address to listen on.", "address", default="127.0.0.1"),
            integer("port", _PORT, "Port to listen on; 0 takes a free one.", default=8000),
            integer("workers", (1, 256), "Serving processes; more than one needs Redis.", default=1),
            integer(
                "threads",
                (0, 1024),
                "Answers of one key that a process computes at a time; 0 means one per core. One more thread is reserved for other keys.",
                default=0,
            ),
            integer(
                "max_waiting_answers",
                (1, 1_000_000),
                "Answers that may wait for a compute thread of a process; beyond that, calls get 503 `overloaded`. A key may use half of "
                "them.",
                default=256,
            ),
            seconds(
                "max_wait_seconds",
                _WAIT,
                "How long an answer waits for a compute thread before it is refused with 503 `overloaded`.",
                default=10.0,
            ),
            integer(
                "memory_bytes",
                _BYTES_OR_0,
                "Maximum memory of each process for finished bodies, indexes, and rendered rows without a folder; 0 takes a quarter of "
                "the available memory, shared between the workers.",
                default=0,
            ),
            seconds("refresh_seconds", _WAIT, "How often to look for new snapshots.", default=1.0),
            seconds(
                "list_seconds",
                (0, 3600),
                "How long to rely on a change hint (`index/moved` in an object store, the time of a local folder) before all pointers are "
                "listed again; 0 lists them at every refresh.",
                default=30.0,
            ),
            seconds(
                "drain_delay_seconds",
                (0, 3600),
                "How long the port stays open after the first SIGTERM, while `/ready` says `draining`, so that load balancers notice.",
                default=0.0,
            ),
            seconds("drain_seconds", _WAIT, "How long running requests may take at shutdown.", default=20.0),
            integer(
                "metrics_port",
                _PORT,
                "Port of /metrics, /ready and /live; 0 takes a free one.",
                otherwise="no metrics",
            ),
            text(
                "metrics_host",
                "Address of that port. It requires no key: open it to the monitoring only.",
                "address",
                default="127.0.0.1",
            ),
            text("build", "Version of this build, part of every ETag.", otherwise="the project's version"),
            choice(
                "api_docs",
                "Serve the OpenAPI document (/openapi.json), Swagger UI (/docs) and the widgets of OpenBB Workspace (/widgets.json) to "
                "anyone, without a key; off makes these paths 404.",
                ("on", "off"),
                default="on",
            ),
            switch(
                "explorer",
                "Serve the explorer, a page that shows results in a browser, at /explorer, and redirect / to it. The page needs no key, "
                "its data need the visitor's; off makes its paths 404.",
            ),
            switch(
                "agents",
                "Serve tools for agents at /mcp by the Model Context Protocol, for the same keys; needs the extra `agents`.",
            ),
            choice(
                "log_level",
                "Lowest level to log: debug, info, warning or error. Requests are logged at info.",
                ("debug", "info", "warning", "error"),
                default="info",
            ),
            choice(
                "log_format",
                "Format of log lines: json, console, or auto, which is console on a terminal and json otherwise.",
                ("auto", "json", "console"),
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
            location(
                "seals",
                "Search this folder or prefix for seals, and build new and changed ones. Seals named on the command line take precedence "
                "over the variable.",
                own_flag="--from",
            ),
            integer(
                "jobs",
                (1, 256),
                "Number of builds that run in parallel, each in its own process.",
                otherwise="1; on a cluster, one per thread of its workers",
            ),
            seconds("interval", (0.1, 604_800), "Pause between two searches of --watch.", default=60.0),
            path(
                "seal_keys",
                "File with the public keys of the teams that hand over seals: `check` and `build` refuse a seal that none of them signed. "
                "On a cluster every worker needs it at the same path.",
                otherwise="seals need no signature",
            ),
            location(
                "prices",
                "Parquet file, or folder of them, with the market prices of the names in the universe: `check` and `build` compare seals "
                "with them and give notices, group `market`. On a cluster every worker needs it at the same address.",
                otherwise="seals are not compared with a market",
            ),
            seconds(
                "cluster_seconds",
                (1, 86_400),
                "How long the scheduler may fail to answer, or have no usable worker, before the batch ends.",
                default=60.0,
            ),
            text("cluster", "Build on this Dask scheduler's workers.", "tcp://…", otherwise="this machine"),
            switch(
                "single_writer",
                "Publish to a store without conditional writes. You must ensure that no other build, rollback or gc writes to the root "
                "meanwhile; builds run one at a time.",
            ),
            text(
                "archive_exclude",
                "Source files to leave out of archives: shell patterns separated by commas, in place of the defaults, or in addition to "
                "them after a leading +.",
                "patterns",
                own_flag="--exclude",
            ),
            Setting(
                "metrics_file",
                TEXTFILE,
                "File for the build's metrics in Prometheus' text format, replaced atomically, for a node exporter's textfile folder; its "
                "name ends in .prom.",
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
                "Minimum time for which `gc` keeps a replaced snapshot, so that clients that pin it can finish, such as 90s, 30m, 12h or "
                "7d.",
                otherwise="1d",
                own_flag="--grace",
            ),
        ),
    ),
    Group(
        "Events",
        "Read by `alpha-results notify`. Secrets have no flags, because flags are visible in process lists.",
        (
            url("webhook", "Receives events as CloudEvents."),
            text("webhook_secret", "Secret that signs events (Standard Webhooks).", secret=True, own_flag=""),
            url("lineage", "Receives OpenLineage run events."),
            text("lineage_token", "Bearer token for the lineage service.", secret=True, own_flag=""),
        ),
    ),
)

SETTINGS: Final = {setting.name: setting for group in GROUPS for setting in group.settings}
"""Name -> declaration."""


@contextmanager
def setting_named_in_errors(setting: str) -> Iterator[None]:
    """Name the flag and the variable of a setting in errors about its address or its files."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{SETTINGS[setting].flag} or {SETTINGS[setting].variable}: {error}") from error


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
