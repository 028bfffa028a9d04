"""The operator's file of factors, read again when it changes."""

from __future__ import annotations

import threading
import time
from typing import Final

import structlog

from datasets.factors import Factors, read_factors
from datasets.storage import open_storage
from schemas.errors import SettingsError, StorageUnavailable

_log = structlog.get_logger("serve.market_data")
_LOOK_SECONDS: Final = 15.0
"""Between two looks at the file."""


class FactorFile:
    """Factors of one Parquet file, in memory. Safe to share between threads; files are read on the calling one.

    What was read stays served while the store is away or a newer file breaks a rule.

    Parameters
    ----------
    address
        A path or URL; None where the deployment has no factors.
    look_seconds
        Between two looks at the file.

    Raises
    ------
    SettingsError
        When no file system answers to the address.
    """

    def __init__(self, address: str | None, *, look_seconds: float = _LOOK_SECONDS) -> None:
        self._storage = open_storage(address) if address else None
        self._look_seconds = look_seconds
        self._lock = threading.Lock()
        self._factors: Factors | None = None
        self._signature: object = None
        self._next = float("-inf")

    def load(self) -> Factors | None:
        """Return the factors; None where the deployment has none.

        Raises
        ------
        SettingsError
            When there is no file or it breaks a rule, and none was read before.
        StorageUnavailable
            When the store does not answer, and none was read before.
        """
        if self._storage is None:
            return None
        with self._lock:
            if time.monotonic() >= self._next:
                self._look()
            return self._factors

    def _look(self) -> None:
        try:
            self._read_if_changed()
        except (SettingsError, StorageUnavailable, OSError) as error:
            if self._factors is None:
                raise
            _log.error("factors_unusable", reason=str(error))
        self._next = time.monotonic() + self._look_seconds

    def _read_if_changed(self) -> None:
        assert self._storage is not None
        signature = self._storage.signature()
        if signature is None:
            raise SettingsError(
                f"factor file {self._storage.address}: there is no such file; correct ALPHA_RESULTS_FACTORS"
            )
        if signature != self._signature:
            self._factors = read_factors(self._storage.address, self._storage.read(""))
            self._signature = signature
            _log.info("factors_read", factors=list(self._factors.names))
