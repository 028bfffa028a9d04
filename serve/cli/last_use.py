"""When keys were used last, beside what is stored of them."""

from __future__ import annotations

from typing import Any

from schemas.errors import AlphaResultsError
from schemas.terminal import echo
from serve.auth.key_view import instant
from serve.auth.limits.clocks import wall_us
from serve.auth.limits.last_use import last_uses
from serve.auth.limits.policy import LastUse
from serve.cli.session import make_settings


async def with_last_use(
    access_url: str | None, datasets: str | None, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return keys with ``last_used_at`` and ``calls_this_month``; both null, and a line that says why, when counts cannot be read."""
    settings = make_settings(access_url, datasets)
    try:
        uses = await last_uses(settings, [row["key_id"] for row in rows], wall_us())
    except AlphaResultsError as error:
        echo(f"warning: last use is not known: {error}", err=True)
        return [row | {"last_used_at": None, "calls_this_month": None} for row in rows]
    shown = []
    for row in rows:
        use = uses.get(row["key_id"], LastUse())
        used_at = None if use.used_us is None else instant(use.used_us).isoformat()
        shown.append(row | {"last_used_at": used_at, "calls_this_month": use.calls})
    return shown
