"""The receipt of a simulation: its parameters and the digest of every file. It is begun before any other file, and finished after all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from examples.reference_engine.write import json_bytes
from schemas.errors import SettingsError

MARKET: Final = "market"
"""Folder of the benchmark, beside the seals."""
_RECEIPT: Final = "simulation.json"


@contextmanager
def writing(out: Path, parameters: Mapping[str, Any], *, replace: bool = False) -> Iterator[None]:
    """Claim a folder for a simulation; when the block ends well, its receipt says so.

    What an interrupted simulation left is removed first.

    Parameters
    ----------
    out
        Folder to write into; created.
    parameters
        Parameters of the simulation; `alphas` has an `alpha_id` for each.
    replace
        Also remove a finished simulation, whatever its parameters, if none of its files was changed since.

    Raises
    ------
    SettingsError
        When the folder holds other files, or another process writes into it.
    """
    other = SettingsError(f"{out} holds something else already: remove it, or name another folder.")
    if out.exists() and not out.is_dir():
        raise other
    receipt = out / _RECEIPT
    if out.exists() and any(out.iterdir()) and (receipt.is_symlink() or not receipt.is_file()):
        raise other
    out.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(receipt, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SettingsError(
                f"another process is simulating into {out}: wait for its end, or name another folder."
            ) from error
        if receipt.stat().st_size:
            earlier = read(out)
            ours = earlier is not None and (
                earlier["files"] is None or (replace and earlier["files"] == digests(out))
            )
            if earlier is None or not ours or not _remove(out, earlier["parameters"]):
                raise other
        elif len(list(out.iterdir())) > 1:
            raise other
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json_bytes({"parameters": parameters, "files": None}), 0)
        yield
        unfinished = receipt.with_name(f"{_RECEIPT}.unfinished")
        unfinished.write_bytes(json_bytes({"parameters": parameters, "files": digests(out)}))
        unfinished.replace(receipt)
    finally:
        os.close(descriptor)


def read(out: Path) -> dict[str, Any] | None:
    """Return the receipt in a folder, its `files` null while it is unfinished; None where there is none to be read."""
    try:
        receipt = json.loads((out / _RECEIPT).read_bytes())
    except (OSError, ValueError):
        return None
    return receipt if isinstance(receipt, dict) and receipt.keys() == {"parameters", "files"} else None


def digests(out: Path) -> dict[str, str]:
    """Return the SHA-256 of every file but the receipt, by its path in the folder."""
    files = sorted(path for path in out.rglob("*") if path.is_file() and not path.name.startswith(_RECEIPT))
    return {path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _remove(out: Path, parameters: Any) -> bool:
    """Remove what a simulation writes; False, with no file removed, if the folder holds other files."""
    alphas = parameters.get("alphas") if isinstance(parameters, dict) else None
    written = {MARKET, *(spec.get("alpha_id") for spec in alphas or () if isinstance(spec, dict))}
    folders = [path for path in out.iterdir() if not path.name.startswith(_RECEIPT)]
    if any(path.name not in written or path.is_symlink() or not path.is_dir() for path in folders):
        return False
    for folder in folders:
        shutil.rmtree(folder)
    return True
