"""Folders of files on any supported store, behind one protocol: a local folder, or a bucket."""

from datasets.storage.protocol import Signature, Storage, StoredFile, Version, without_secrets
from datasets.storage.registry import open_storage, require_supported

__all__ = [
    "Signature",
    "Storage",
    "StoredFile",
    "Version",
    "open_storage",
    "require_supported",
    "without_secrets",
]
