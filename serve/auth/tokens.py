"""Tokens: their format, reading one from a request, issuing, masking, and verifying the secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from schemas.errors import ApiError

KEY_ID_LENGTH: Final = 16
SECRET_LENGTH: Final = 43
"""Characters of base64url that hold 256 bits."""
SHOWN_LENGTH: Final = 4
"""Characters of the key id that a masked token shows."""
_ID_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
NO_PEPPER: Final = "none"
"""Pepper id of a digest without pepper."""
NOT_A_KEY: Final = {"WWW-Authenticate": 'Bearer error="invalid_token"'}


class Token(NamedTuple):
    """A well-formed token; if not `ours`, it names another environment and was not issued here."""

    key_id: str
    secret: str
    ours: bool = True

    def __repr__(self) -> str:
        """Leave the secret out."""
        return f"Token(key_id={self.key_id!r})"


class TokenShape:
    """Format of a deployment's tokens: ``<prefix>_<environment>_<key_id>.<secret>``."""

    def __init__(self, prefix: str, environment: str) -> None:
        self._start = f"{prefix}_{environment}_"
        self._environment = environment
        self._pattern = re.compile(
            rf"{re.escape(prefix)}_([0-9A-Za-z]+)_([0-9A-Za-z_-]{{{KEY_ID_LENGTH}}})\.([0-9A-Za-z_-]{{{SECRET_LENGTH}}})"
        )

    def read(self, headers: Mapping[bytes, bytes]) -> Token:
        """Return the token that the headers present, whether or not it was ever issued.

        Header names are in lower case and repeated headers are joined with commas, so two ``Authorization`` headers are
        malformed.

        Raises
        ------
        ApiError
            ``missing_api_key``, ``malformed_api_key``.
        """
        scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").strip().partition(" ")
        text = text.strip()
        if not text or scheme.lower() != "bearer":
            raise ApiError(
                "missing_api_key",
                "Send the key as `Authorization: Bearer <key>`.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        token = self.parse(text)
        if token is None:
            raise ApiError(
                "malformed_api_key", "The token is not a well-formed key; send it in full.", headers=NOT_A_KEY
            )
        return token

    def parse(self, text: str) -> Token | None:
        """Split a token; None when it has another shape or prefix.

        Any environment and any id of 16 characters are accepted; the lookup decides whether they belong to this
        deployment.
        """
        match = self._pattern.fullmatch(text)
        return Token(match[2], match[3], match[1] == self._environment) if match else None

    def spell(self, token: Token) -> str:
        """Return the complete token, which is shown once to its owner and never stored."""
        return f"{self._start}{token.key_id}.{token.secret}"

    def mask(self, key_id: str) -> str:
        """Return the part of a token that inventories show: prefix, environment and the start of the id."""
        return self._start + key_id[:SHOWN_LENGTH]


def new_id() -> str:
    """Return a random identifier of 16 characters of [0-9a-z], for a key or an account."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(KEY_ID_LENGTH))


def could_be_id(text: str) -> bool:
    """Whether a text has the format of an id, whether or not the key exists."""
    return len(text) == KEY_ID_LENGTH and set(text) <= set(_ID_ALPHABET)


def new_token() -> Token:
    """Return a token never issued before: a random id, and 256 random bits as its secret."""
    return Token(new_id(), secrets.token_urlsafe(32))


class Digests:
    """Computes the digests that are stored in place of secrets, and verifies secrets against them.

    The digest is HMAC-SHA256 over id and secret together, keyed by a pepper that is not in the store: a
    stolen store alone verifies nothing, and a digest copied to another row does not verify there. New digests use the
    first pepper; old ones verify with any. Digests without a pepper are safe as well, as 256 random bits cannot be guessed.
    """

    def __init__(self, peppers: tuple[bytes, ...]) -> None:
        self._peppers = {pepper_id(pepper): pepper for pepper in peppers}
        self._peppers.setdefault(NO_PEPPER, b"")
        self.known = frozenset(self._peppers)
        self.newest = next(iter(self._peppers))
        self.decoy = secrets.token_bytes(hashlib.sha256().digest_size), self.newest
        """Digest and pepper id that match no token; the secret of an unknown id is compared with them."""

    def make(self, token: Token) -> tuple[bytes, str]:
        """Return the digest to store and the id of its pepper."""
        return self._digest(token, self.newest), self.newest

    def verify(self, token: Token, digest: bytes, pepper_id: str) -> bool:
        """Whether the digest is that of the token's secret.

        Always computes one HMAC and compares in constant time, even if the digest's pepper is not loaded, so that timing
        does not reveal which check failed.
        """
        usable = pepper_id in self._peppers
        computed = self._digest(token, pepper_id if usable else self.newest)
        return hmac.compare_digest(computed, digest if usable else self.decoy[0]) and usable

    def link_signature(self, digest: bytes, pepper_id: str, text: str) -> str | None:
        """Sign a link for a key; None when the pepper of its digest is not loaded.

        The signing key is derived from the pepper and the key's digest, so that no link outlives either, and a
        deployment without a pepper still signs with 256 secret bits.
        """
        if pepper_id not in self._peppers:
            return None
        signing_key = hmac.digest(self._peppers[pepper_id], b"link\0" + digest, "sha256")
        signature = hmac.digest(signing_key, text.encode(), "sha256")
        return base64.urlsafe_b64encode(signature).rstrip(b"=").decode("ascii")

    def _digest(self, token: Token, pepper_id: str) -> bytes:
        return hmac.digest(self._peppers[pepper_id], f"{token.key_id}.{token.secret}".encode(), "sha256")


def pepper_id(pepper: bytes) -> str:
    """Return a short public name of a pepper, from which the pepper cannot be derived."""
    return hashlib.sha256(b"pepper id\0" + pepper).hexdigest()[:12]
