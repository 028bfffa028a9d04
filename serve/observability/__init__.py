"""Observability of a serving process: metrics, readiness, liveness and the log.

No series names an alpha, a key or a caller: there are too many of each, and readers of metrics may not be entitled to know them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from serve.settings import Settings

if TYPE_CHECKING:
    from serve.observability.metrics import Instruments

_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable of `prometheus_client`: a process started with it keeps its values in files in that folder."""


def make_instruments(settings: Settings) -> Instruments | None:
    """Return the instruments of this process; None without a metrics port."""
    if settings.metrics_port is None:
        return None
    from serve.observability.metrics import Instruments  # noqa: PLC0415 - only where a port is given

    return Instruments(multiprocess=_SHARED_FOLDER in os.environ)


@contextmanager
def serve_metrics(
    settings: Settings, *, workers: bool
) -> Iterator[tuple[Instruments | None, Callable[[], None]]]:
    """Serve the metrics port, for this process or for the workers that it starts.

    Parameters
    ----------
    settings
        Its host and port.
    workers
        Whether worker processes answer the requests; their values are combined here.

    Yields
    ------
    tuple
        The instruments of this process, None with workers or without a port; and a function to call when draining starts.

    Raises
    ------
    SettingsError
        When the port cannot be bound.
    """
    os.environ.pop(_SHARED_FOLDER, None)
    if settings.metrics_port is None:
        yield None, lambda: None
        return
    from serve.observability.metrics import Instruments, worker_registry  # noqa: PLC0415 - as above
    from serve.observability.port import MetricsPort  # noqa: PLC0415 - as above

    with ExitStack() as stack:
        if workers:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="alpha-results-metrics-"))
            os.environ[_SHARED_FOLDER] = folder
            stack.callback(os.environ.pop, _SHARED_FOLDER, None)
            instruments, registry = None, worker_registry(folder)
        else:
            instruments = Instruments()
            registry = instruments.registry
        port = MetricsPort(settings.metrics_host, settings.metrics_port, registry)
        stack.callback(port.stop)
        port.start()
        yield instruments, port.drain
