"""Tokens: how a request presents one, their shape, how they are made and masked, and how a secret is verified."""

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
"""Pepper id of a digest made without one."""
NOT_A_KEY: Final = {"WWW-Authenticate": 'Bearer error="invalid_token"'}


class Token(NamedTuple):
    """A token that has the right shape; unless its environment is `ours`, it cannot have been issued here."""

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

        Their names are in lower case, several lines of one joined with commas: two ``Authorization`` headers are malformed.

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
                "malformed_api_key", "The bearer value is not of the shape of a key.", headers=NOT_A_KEY
            )
        return token

    def parse(self, text: str) -> Token | None:
        """Split a token; None when it has another shape or prefix.

        Any word may stand for the environment and any 16 characters for the id: whether they are of this deployment is
        for the look-up to find out.
        """
        match = self._pattern.fullmatch(text)
        return Token(match[2], match[3], match[1] == self._environment) if match else None

    def spell(self, token: Token) -> str:
        """Return the complete token, which is shown once to its owner and never stored."""
        return f"{self._start}{token.key_id}.{token.secret}"

    def mask(self, key_id: str) -> str:
        """Return what inventories show of a token: its words and the start of its id."""
        return self._start + key_id[:SHOWN_LENGTH]


def new_id() -> str:
    """Return a random identifier of 16 characters of [0-9a-z], for a key or an account."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(KEY_ID_LENGTH))


def could_be_id(text: str) -> bool:
    """Whether a text is spelled like an id, whether or not there is such a key."""
    return len(text) == KEY_ID_LENGTH and set(text) <= set(_ID_ALPHABET)


def new_token() -> Token:
    """Return a token never issued before: a random id, and 256 random bits as its secret."""
    return Token(new_id(), secrets.token_urlsafe(32))


class Digests:
    """Digests that are stored in place of secrets, and the verification of a secret.

    The digest is HMAC-SHA256 over id and secret together, keyed by a pepper that is not in the store: a
    stolen store alone verifies nothing, and a digest copied from one row to another fits neither. The first pepper
    makes new digests; all of them verify. Digests without a pepper are safe as well, as 256 random bits cannot be guessed.
    """

    def __init__(self, peppers: tuple[bytes, ...]) -> None:
        peppers_by_id = {pepper_id(pepper): pepper for pepper in peppers}
        peppers_by_id.setdefault(NO_PEPPER, b"")
        # Copied for each secret: a new HMAC object would look up its algorithm every time.
        self._keyed = {name: hmac.new(pepper, digestmod="sha256") for name, pepper in peppers_by_id.items()}
        self.known = frozenset(self._keyed)
        self.newest = next(iter(self._keyed))
        self.of_nobody = secrets.token_bytes(hashlib.sha256().digest_size), self.newest
        """Digest and pepper id that no token verifies against: what the secret of an unknown id is compared with."""

    def make(self, token: Token) -> tuple[bytes, str]:
        """Return the digest to store and the id of the pepper it was made with."""
        return self._digest(token, self.newest), self.newest

    def verify(self, token: Token, digest: bytes, made_with: str) -> bool:
        """Whether the token's secret is the one the digest was made from.

        Always one HMAC and one comparison in constant time, also when the digest's pepper is not loaded: the work done tells
        nobody which it was.
        """
        usable = made_with in self._keyed
        computed = self._digest(token, made_with if usable else self.newest)
        return hmac.compare_digest(computed, digest if usable else self.of_nobody[0]) and usable

    def link_signature(self, digest: bytes, made_with: str, text: str) -> str | None:
        """Sign a link for a key; None when the pepper of its digest is not loaded.

        The secret is derived from the pepper and the key's own digest, so that no link outlives either, and a
        deployment without a pepper still signs with 256 secret bits.
        """
        if made_with not in self._keyed:
            return None
        derived = self._keyed[made_with].copy()
        derived.update(b"link\0" + digest)
        made = hmac.digest(derived.digest(), text.encode(), "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode("ascii")

    def _digest(self, token: Token, made_with: str) -> bytes:
        keyed = self._keyed[made_with].copy()
        keyed.update(f"{token.key_id}.{token.secret}".encode())
        return keyed.digest()


def pepper_id(pepper: bytes) -> str:
    """Return a short public name of a pepper, from which the pepper cannot be derived."""
    return hashlib.sha256(b"pepper id\0" + pepper).hexdigest()[:12]
