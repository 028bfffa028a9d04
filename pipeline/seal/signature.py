"""Signatures of seals: a DSSE envelope with Ed25519 signatures over the digest of ``seal.json``.

The envelope has the format of https://github.com/secure-systems-lab/dsse; its payload is an in-toto statement. It is stored
next to the manifest as ``seal.dsse.json`` and is a self-contained receipt: the public key alone suffices to verify it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import SettingsError
from schemas.extras import extra
from schemas.settings import SETTINGS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE_FILE: Final = "seal.dsse.json"
MAX_ENVELOPE_BYTES: Final = 2048
"""Maximum bytes of an envelope."""
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "alpha-results/seal/v1"

TeamKeys = Mapping[str, "tuple[Ed25519PublicKey, ...]"]
"""Team -> its public keys."""


class Unsigned(ValueError):
    """A seal is not signed by any key of the teams; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Signed:
    """The statement of an envelope, and its signer.

    Attributes
    ----------
    team
        Team whose key signed it.
    alpha_id, sealed_at, seal_digest
        Alpha, time and digest of the seal.
    """

    team: str
    alpha_id: str
    sealed_at: str
    seal_digest: str


def signed_envelope(manifest: bytes, key: Ed25519PrivateKey) -> bytes:
    """Sign the bytes of a ``seal.json`` and return the envelope."""
    head = json.loads(manifest)
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": "seal.json", "digest": {"sha256": hashlib.sha256(manifest).hexdigest()}}],
        "predicateType": PREDICATE,
        "predicate": {name: head[name] for name in ("alpha_id", "sealed_at", "engine")},
    }
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signature = {"keyid": key_id(key.public_key()), "sig": _text(key.sign(_encoded(PAYLOAD_TYPE, payload)))}
    envelope = {"payloadType": PAYLOAD_TYPE, "payload": _text(payload), "signatures": [signature]}
    return json.dumps(envelope, indent=1).encode() + b"\n"


def verify(envelope: bytes, keys: TeamKeys) -> Signed:
    """Return the statement of an envelope that a team's key signed.

    Raises
    ------
    Unsigned
        When it is not the envelope of a seal, or none of the keys signed it.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    try:
        document = json.loads(envelope)
        payload, signatures = base64.b64decode(document["payload"], validate=True), document["signatures"]
        signed = [base64.b64decode(signature["sig"], validate=True) for signature in signatures]
        message = _encoded(str(document["payloadType"]), payload)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unsigned(f"{SIGNATURE_FILE} is not a DSSE envelope") from error
    for team, own in keys.items():
        for key in own:
            for signature in signed:
                try:
                    key.verify(signature, message)
                except InvalidSignature:
                    continue
                return _read(team, document["payloadType"], payload)
    raise Unsigned("none of the deployment's team keys signed it")


def read_keys(path: str, flag: str = SETTINGS["seal_keys"].flag) -> TeamKeys:
    """Read a file of public keys, a JSON object of team -> list of keys in base64, given with a flag that errors name.

    Raises
    ------
    SettingsError
        When it cannot be read, names no key, or `cryptography` is not installed.
    """
    with extra("signatures", "verifying who sealed a run"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - an extra
            Ed25519PublicKey,
        )
    try:
        keys = {
            team: tuple(
                Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True)) for key in own
            )
            for team, own in _teams(path).items()
        }
    except OSError as error:
        raise SettingsError(
            f"{flag}: {path} cannot be read: {error.strerror}; give the file of the teams' public keys"
        ) from error
    except (ValueError, TypeError) as error:
        raise SettingsError(
            f"{flag}: {path} is not a file of keys ({error}); write a JSON object, team to a list of public keys in base64"
        ) from error
    if not any(keys.values()):
        raise SettingsError(f"{flag}: {path} names no key, so no seal could be built")
    return keys


def _teams(path: str) -> dict[str, list[Any]]:
    teams = json.loads(Path(path).read_text("utf-8"))
    if not isinstance(teams, dict) or not all(isinstance(own, list) for own in teams.values()):
        raise TypeError("it is not an object of lists")
    return teams


def key_id(key: Ed25519PublicKey) -> str:
    """Return the id of a key: a prefix of its digest."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def _read(team: str, payload_type: Any, payload: bytes) -> Signed:
    try:
        statement = json.loads(payload)
        (subject,) = statement["subject"]
        head = statement["predicate"]
        kind = (payload_type, statement["_type"], statement["predicateType"])
        signed = Signed(team, str(head["alpha_id"]), str(head["sealed_at"]), str(subject["digest"]["sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Unsigned(f"{SIGNATURE_FILE} is not a statement about a seal") from error
    if kind != (PAYLOAD_TYPE, STATEMENT, PREDICATE):
        raise Unsigned(f"{SIGNATURE_FILE} is a statement of another kind, {kind[2]}")
    return signed


def _encoded(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes to sign: DSSE's pre-authentication encoding, which is unambiguous."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
