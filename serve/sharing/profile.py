"""Delta Sharing profiles: files that hold the service's address and a client's key."""

from __future__ import annotations

import json
from typing import Final

PATH: Final = "/delta-sharing"
"""Path below which the service speaks the protocol."""


def make_profile(base_url: str, token: str, expires_at: str | None) -> str:
    """Return the text of a profile.

    Parameters
    ----------
    base_url
        Address of the service.
    token
        The key's token, so whoever has the file has the key's rights.
    expires_at
        Expiry of the key in ISO 8601; None if it has none.
    """
    profile = {
        "shareCredentialsVersion": 1,
        "endpoint": f"{base_url.rstrip('/')}{PATH}",
        "bearerToken": token,
        **({} if expires_at is None else {"expirationTime": expires_at}),
    }
    return json.dumps(profile, indent=2) + "\n"
