"""Storage backends: local folders and buckets behind one protocol."""

from datasets.storage.opening import open_storage, require_supported
from datasets.storage.protocol import (
    DRAFT_SUFFIX,
    Renew,
    Signature,
    Storage,
    StoredFile,
    Version,
    without_secrets,
)

__all__ = [
    "DRAFT_SUFFIX",
    "Renew",
    "Signature",
    "Storage",
    "StoredFile",
    "Version",
    "open_storage",
    "require_supported",
    "without_secrets",
]
