"""Damage to published files, with the answers and the health that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.client import ApiClient

ALPHA: Final = "Test_small"


BESIDE: Final = "Test_beside"
"""An alpha that is never damaged."""


RUN: Final = f"/v1/alphas/{ALPHA}"


def snapshot_folder(root: Path) -> Path:
    return next((root / "alphas" / f"alpha_id={ALPHA}").glob("snapshot=*"))


def flip(path: Path, place: int, bit: int) -> None:
    """Flip one bit in place."""
    with path.open("r+b") as stream:
        stream.seek(place)
        (byte,) = stream.read(1)
        stream.seek(place)
        stream.write(bytes([byte ^ 1 << bit]))


def health(api: ApiClient) -> tuple[str, int]:
    body = api.get("/v1/health").json()
    return body["status"], body.get("affected_alphas", 0)
