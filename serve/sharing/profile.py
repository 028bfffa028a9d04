"""Profiles of Delta Sharing: the file with a client's address and key."""

from __future__ import annotations

import json
from typing import Final

PATH: Final = "/delta-sharing"
"""Path of the protocol."""


def make_profile(base_url: str, token: str, expires_at: str | None) -> str:
    """Return the text of a profile.

    Parameters
    ----------
    base_url
        Address of the service.
    token
        The key; whoever has the file may do what the key may.
    expires_at
        When it expires, ISO-8601; None when it does not.
    """
    profile = {
        "shareCredentialsVersion": 1,
        "endpoint": f"{base_url.rstrip('/')}{PATH}",
        "bearerToken": token,
        **({} if expires_at is None else {"expirationTime": expires_at}),
    }
    return json.dumps(profile, indent=2) + "\n"
