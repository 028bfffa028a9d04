"""What operators see of a serving process: measurements, readiness, and whether it lives.

Nothing here names an alpha, a key or a caller: there are too many of each for a time series, and whoever reads the
measurements need not be allowed to know them.

The library of measurements is loaded only where a port is given for them: that takes longer than all else that a
serving process loads besides the query engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from serve.settings import Settings

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from serve.observability.prometheus import Instruments

__all__ = ["SHARED_FOLDER", "exported_alone", "exported_by_parent", "make_instruments"]

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The library's own variable: a process that begins with it keeps its values in files there."""


def make_instruments(settings: Settings) -> Instruments | None:
    """Return what measures this serving process; None when nothing is to be measured."""
    if settings.metrics_port is None:
        return None
    from serve.observability.prometheus import Instruments  # noqa: PLC0415 - as the head of this module says

    return Instruments(several=SHARED_FOLDER in os.environ)


@contextmanager
def exported_alone(settings: Settings) -> Iterator[tuple[Instruments | None, Callable[[], None]]]:
    """Give what measures a single serving process, which answers for itself, and what to call when it ends.

    Raises
    ------
    SettingsError
        When the port of the measurements cannot be taken.
    """
    os.environ.pop(SHARED_FOLDER, None)
    instruments = make_instruments(settings)
    if instruments is None:
        yield None, _nothing
        return
    with _exported(settings, instruments.registry) as draining:
        yield instruments, draining


@contextmanager
def exported_by_parent(settings: Settings) -> Iterator[Callable[[], None]]:
    """Answer for serving processes that are started meanwhile, and give what to call when they end.

    Raises
    ------
    SettingsError
        When the port of the measurements cannot be taken.
    """
    if settings.metrics_port is None:
        yield _nothing
        return
    from serve.observability.multiprocess import registry_of_workers, shared_folder  # noqa: PLC0415 - as above

    with shared_folder() as folder, _exported(settings, registry_of_workers(folder)) as draining:
        yield draining


@contextmanager
def _exported(settings: Settings, registry: CollectorRegistry) -> Iterator[Callable[[], None]]:
    from serve.observability.exporter import Exporter  # noqa: PLC0415 - as above

    assert settings.metrics_port is not None
    exporter = Exporter(settings.metrics_host, settings.metrics_port, registry)
    exporter.start()
    try:
        yield exporter.drain
    finally:
        exporter.stop()


def _nothing() -> None:
    pass
