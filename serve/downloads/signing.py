"""Signing links of this service's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serve.downloads.links import Signed, base_url, signed_text

if TYPE_CHECKING:
    from serve.http.request import Request
    from serve.state import ServerState


async def signed_url(service: ServerState, request: Request, path: str, expires: int) -> str:
    """Return a link of a file of this service, signed in the name of the calling key."""
    key_id = request.the_caller.key_id
    signature = await service.access.sign_link(key_id, signed_text(path, expires, key_id))
    base = base_url(
        service.public_url,
        request.headers,
        behind_proxies=service.access_settings.trusted_hops > 0,
    )
    return f"{base}{path}?{Signed(expires, key_id, signature).query}"
