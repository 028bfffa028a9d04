"""The settings of the serving program: those declared in `schemas.settings`, resolved.

Importing this module reads no setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from schemas.settings import SETTINGS, Setting, setting_value


def _declared(name: str) -> Any:
    setting = SETTINGS[name]
    return field(default=MISSING if setting.required else setting.default, repr=not setting.secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the serving program, read once at start. Each field is documented by the declaration of its name."""

    datasets: str = _declared("datasets")
    cache: str | None = _declared("cache")
    cache_bytes: int = _declared("cache_bytes")
    rows: str | None = _declared("rows")
    rows_bytes: int = _declared("rows_bytes")
    neighbours: str | None = _declared("neighbours")
    verify_seconds: float = _declared("verify_seconds")
    market_data: str | None = _declared("market_data")
    factors: str | None = _declared("factors")
    archives: str | None = _declared("archives")
    archives_public_endpoint: str | None = _declared("archives_public_endpoint")
    datasets_public_endpoint: str | None = _declared("datasets_public_endpoint")
    public_url: str | None = _declared("public_url")
    link_bytes_per_hour: int = _declared("link_bytes_per_hour")
    host: str = _declared("host")
    port: int = _declared("port")
    workers: int = _declared("workers")
    threads: int = _declared("threads")
    max_waiting_answers: int = _declared("max_waiting_answers")
    max_wait_seconds: float = _declared("max_wait_seconds")
    memory_bytes: int = _declared("memory_bytes")
    refresh_seconds: float = _declared("refresh_seconds")
    list_seconds: float = _declared("list_seconds")
    drain_delay_seconds: float = _declared("drain_delay_seconds")
    drain_seconds: float = _declared("drain_seconds")
    metrics_port: int | None = _declared("metrics_port")
    metrics_host: str = _declared("metrics_host")
    build: str | None = _declared("build")
    api_docs: str = _declared("api_docs")
    explorer: bool = _declared("explorer")
    agents: bool = _declared("agents")
    log_level: str = _declared("log_level")
    log_format: str = _declared("log_format")
    max_connections: int = _declared("max_connections")
    max_connections_per_address: int = _declared("max_connections_per_address")
    max_target_bytes: int = _declared("max_target_bytes")
    max_head_bytes: int = _declared("max_head_bytes")
    head_timeout_seconds: float = _declared("head_timeout_seconds")
    keep_alive_seconds: float = _declared("keep_alive_seconds")
    write_timeout_seconds: float = _declared("write_timeout_seconds")


def declared() -> tuple[Setting, ...]:
    """Return the declarations of all fields, in order."""
    return tuple(SETTINGS[entry.name] for entry in fields(Settings))


def resolve(environment: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings from the environment; flags that are not None take precedence.

    Parameters
    ----------
    environment
        Usually ``os.environ``; an empty variable counts as not given.
    flags
        Field name -> text or value, as the command line parsed it.

    Raises
    ------
    SettingsError
        When a required setting is missing or a value is invalid; the message names where it was given.
    """
    return Settings(
        **{
            entry.name: setting_value(entry, environment, (flags or {}).get(entry.name))
            for entry in declared()
        }
    )


def variables(settings: Settings) -> dict[str, str]:
    """Return the settings as environment variables, for worker processes; the variable of a setting without a value is empty."""
    values = {entry.variable: getattr(settings, entry.name) for entry in declared()}
    return {variable: "" if value is None else str(value) for variable, value in values.items()}
