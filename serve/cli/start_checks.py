"""What is checked once before a port is opened, in this process or in one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
from multiprocessing.connection import Connection

from schemas.errors import SettingsError
from serve.auth.settings import AccessSettings
from serve.observability import logging
from serve.settings import Settings


def check(program: Settings, access: AccessSettings) -> None:
    """Open the root, the file of factors and the stores of keys and of counts, so that what is wrong with one is said in one line.

    Raises
    ------
    AlphaResultsError
        When one cannot be used.
    """
    # As the next function says.
    from datasets.storage import open_storage  # noqa: PLC0415
    from serve.auth.authenticator import Authenticator  # noqa: PLC0415
    from serve.market_data.factors import FactorFile  # noqa: PLC0415

    async def open_stores() -> None:
        opened = await Authenticator.open(access)
        try:
            await opened.require_limiter()
        finally:
            await opened.close()

    # A local root that is not there is more likely a typing error than an empty catalogue.
    if open_storage(program.datasets).missing:
        raise SettingsError(
            f"--datasets: there is no folder {program.datasets!r}; `alpha-results build` publishes into one"
        )
    FactorFile(program.factors).load()
    asyncio.run(open_stores())


def check_apart(program: Settings, access: AccessSettings) -> None:
    """Check in another process: the libraries it takes are several times all else that a parent of workers has in memory.

    Raises
    ------
    AlphaResultsError
        As :func:`check`.
    """
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_tell, args=(sender, program, access), daemon=True)
    # Ctrl-C is for this process, which ends the other, also while that is loading: what is started now inherits it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, before)
    sender.close()
    error: BaseException | None = None
    try:
        with contextlib.suppress(EOFError):
            error = receiver.recv()
        process.join()
    finally:
        process.kill()
        process.join()
        receiver.close()
    if error is not None:
        raise error
    if process.exitcode:
        raise RuntimeError(f"the process that checks what is served ended with code {process.exitcode}")


def _tell(sender: Connection, program: Settings, access: AccessSettings) -> None:
    """Check, and send what was raised, or None."""
    logging.configure(program.log_level, program.log_format)
    try:
        check(program, access)
    except Exception as error:  # noqa: BLE001 - raised again by the other process
        sender.send(error)
    else:
        sender.send(None)
