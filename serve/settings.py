"""Every setting of the serving program, declared once: flag, variable, default and meaning.

The command line, the resolver and the table of settings in the documents derive from the fields of
:class:`Settings`. Nothing is read when this module is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Final

from datasets.cache import DEFAULT_BYTES
from schemas.errors import SettingsError

PREFIX: Final = "ALPHA_RESULTS_"
_KEY: Final = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """How one field of :class:`Settings` is given.

    Attributes
    ----------
    name
        The field.
    variable, flag
        The environment variable and the command-line flag; a flag wins.
    type
        What its text is read as: a word for the documents.
    default
        Its value when it is given nowhere; None with `required`.
    required
        Whether it must be given.
    secret
        Whether its value may hold a password: then it has no flag that carries one, and is never shown.
    meaning
        One sentence for the documents and for ``--help``.
    """

    name: str
    variable: str
    flag: str
    type: str
    default: Any
    required: bool
    secret: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a field's metadata holds: how its text is read, and what it means."""

    read: Callable[[str], Any]
    type: str
    meaning: str
    secret: bool = False


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(f"it must lie between {least} and {most}")
        return value

    return read


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.05 <= value <= 3600:
        raise ValueError("it must lie between 0.05 and 3600")
    return value


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return text

    return read


def _field(
    read: Callable[[str], Any], type_: str, meaning: str, *, default: Any = MISSING, secret: bool = False
) -> Any:
    metadata = {_KEY: _Declared(read, type_, meaning, secret)}
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the serving program was told, once, at its start. Each field documents itself."""

    datasets: str = _field(_text, "path or URL", "Root of the published datasets.")
    cache: str | None = _field(
        _text,
        "path",
        "Folder for copies of a remote root's files; needed when the datasets are in an object store.",
        default=None,
    )
    cache_bytes: int = _field(
        _whole(1, 2**62),
        "integer",
        "How much that folder may hold; what was used longest ago makes room for what is new.",
        default=DEFAULT_BYTES,
    )
    market_data: str | None = _field(
        _text,
        "path or URL",
        "Parquet file, or folder of them, with the prices of the benchmarks; without it there are none.",
        default=None,
    )
    archives: str | None = _field(
        _text,
        "s3:// URL",
        "Where the pipeline delivers source archives; without it none can be downloaded.",
        default=None,
    )
    archives_public_endpoint: str | None = _field(
        _text,
        "URL",
        "Where callers reach the store of the archives; by default where this service does.",
        default=None,
    )
    host: str = _field(_text, "address", "Address to listen on.", default="127.0.0.1")
    port: int = _field(_whole(0, 65535), "integer", "Port to listen on; 0 takes a free one.", default=8000)
    workers: int = _field(
        _whole(1, 256),
        "integer",
        "Serving processes; more than one needs a limiter they share.",
        default=1,
    )
    threads: int = _field(
        _whole(0, 1024), "integer", "Compute threads of each process; 0 takes one a core.", default=0
    )
    memory_bytes: int = _field(
        _whole(0, 2**62),
        "integer",
        "How much rendered rows and finished bodies may take in each process; 0 takes a quarter of the memory there "
        "is, shared between the workers.",
        default=0,
    )
    refresh_seconds: float = _field(
        _seconds, "seconds", "How often the catalogue is looked at for new snapshots.", default=1.0
    )
    drain_seconds: float = _field(
        _seconds, "seconds", "How long requests in flight may take to finish at shutdown.", default=20.0
    )
    build: str | None = _field(
        _text,
        "text",
        "Version string of this build, part of every ETag; by default the project's version.",
        default=None,
    )
    log_level: str = _field(
        _one_of("debug", "info", "warning", "error"), "word", "Least severe log line written.", default="info"
    )
    log_format: str = _field(
        _one_of("auto", "json", "console"),
        "word",
        "How log lines are written; auto is json off a terminal.",
        default="auto",
    )


def declared() -> tuple[Setting, ...]:
    """Return every setting in the order of the documents."""
    return tuple(_setting(entry) for entry in fields(Settings))


def resolve(environment: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings from the environment; flags that are not None win.

    Parameters
    ----------
    environment
        Usually ``os.environ``; an empty variable counts as not given.
    flags
        Field name -> text or value, as the command line parsed it.

    Raises
    ------
    SettingsError
        When a required setting is missing or a value makes no sense; the message names where it was given.
    """
    found: dict[str, Any] = {}
    for entry in fields(Settings):
        setting, read = _setting(entry), entry.metadata[_KEY].read
        flag = (flags or {}).get(entry.name)
        text, origin = (
            (str(flag), setting.flag)
            if flag is not None
            else (environment.get(setting.variable), setting.variable)
        )
        if text:
            try:
                found[entry.name] = read(text)
            except ValueError as error:
                shown = "the value" if setting.secret else repr(text)
                raise SettingsError(f"{origin}: {shown} is no {setting.type} it can take: {error}") from error
        elif setting.required:
            raise SettingsError(
                f"nothing says where {setting.name} is: give {setting.flag} or set {setting.variable}"
            )
    return Settings(**found)


def variables(settings: Settings) -> dict[str, str]:
    """Return the environment variables that resolve to these settings: how worker processes receive them."""
    values = {entry: getattr(settings, entry.name) for entry in declared()}
    return {entry.variable: str(value) for entry, value in values.items() if value is not None}


def compute_threads(settings: Settings) -> int:
    """Return how many threads compute answers: the setting, or one for each core this process may use."""
    return settings.threads or len(os.sched_getaffinity(0))


def _setting(entry: Field[Any]) -> Setting:
    about: _Declared = entry.metadata[_KEY]
    required = entry.default is MISSING
    return Setting(
        name=entry.name,
        variable=PREFIX + entry.name.upper(),
        flag="--" + entry.name.replace("_", "-"),
        type=about.type,
        default=None if required else entry.default,
        required=required,
        secret=about.secret,
        meaning=about.meaning,
    )
