"""Signing keys of a team, and signing and verification of seals; :mod:`pipeline.seal.signature` defines the envelope."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from alpha_results_seal.errors import SealError

MANIFEST = "seal.json"


def make_key(path: Path) -> str:
    """Write a new private key, readable only by its owner, and return the public key in base64."""
    _envelopes()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 -- an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 -- as above

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(pem)
        except OSError:
            path.unlink()  # empty or in part, it would stop the next attempt
            raise
    except OSError as error:
        raise SealError(f"the key {path} cannot be written: {error.strerror}") from error
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def sign_manifest(manifest: bytes, key_file: Any) -> bytes:
    """Return the signature of a ``seal.json`` by the private key in a PEM file."""
    signature = _envelopes()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 -- an extra
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 -- as above

    try:
        key = load_pem_private_key(Path(key_file).read_bytes(), None)
    except OSError as error:
        raise SealError(f"the key {key_file} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise SealError(f"{key_file} is not a private key in PEM without a password: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(f"{key_file} is not an Ed25519 key: make one with `alpha-results-seal make-key`.")
    envelope: bytes = signature.signed_envelope(manifest, key)
    if len(envelope) > signature.MAX_ENVELOPE_BYTES:
        raise SealError(
            f"the signature would be {len(envelope)} bytes long, and at most {signature.MAX_ENVELOPE_BYTES} are allowed: shorten `engine`."
        )
    return envelope


def sign(folder: Path, key_file: Path) -> Path:
    """Sign a finished seal: write its envelope next to ``seal.json``, atomically."""
    manifest = _manifest(folder)
    place: Path = folder / _envelopes().SIGNATURE_FILE
    unfinished = place.with_name(f"{place.name}.unfinished")
    unfinished.write_bytes(sign_manifest(manifest, key_file))
    unfinished.replace(place)
    return place


def verify(receipt: Path, key_file: Path, folder: Path | None) -> Any:
    """Return the statement and the signer of an envelope, compared with a seal if one is given.

    Raises
    ------
    SealError
        If none of the keys signed it, or it belongs to another seal.
    """
    signature = _envelopes()
    from schemas.errors import SettingsError  # noqa: PLC0415 -- with the rules

    try:
        envelope = receipt.read_bytes()
    except OSError as error:
        raise SealError(
            f"{receipt} cannot be read: {error.strerror}; a receipt is the {signature.SIGNATURE_FILE} of a seal."
        ) from error
    try:
        verified = signature.verify(envelope, signature.read_keys(str(key_file), "--keys"))
    except signature.Unsigned as error:
        raise SealError(f"{receipt}: {error}") from error
    except SettingsError as error:
        raise SealError(str(error)) from error
    if folder is not None and hashlib.sha256(_manifest(folder)).hexdigest() != verified.seal_digest:
        raise SealError(f"{receipt} does not belong to {folder}: its seal.json has another digest.")
    return verified


def _manifest(folder: Path) -> bytes:
    try:
        return (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SealError(f"{folder} has no {MANIFEST}: only a finished seal is signed.") from error
    except OSError as error:
        raise SealError(f"{folder / MANIFEST} cannot be read: {error.strerror}.") from error


def _envelopes() -> Any:
    if sys.version_info < (3, 11):
        raise SealError("signatures need Python 3.11 or later.")
    try:
        import cryptography  # noqa: F401, PLC0415 -- an extra
        from pipeline.seal import signature  # noqa: PLC0415 -- only where it is installed
    except ImportError as error:
        raise SealError(
            f"signatures need {error.name}: pip install 'alpha-results-seal[signatures]'."
        ) from error
    return signature
