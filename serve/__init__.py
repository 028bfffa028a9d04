"""Online side: the read-only JSON API over published snapshots."""

from serve.plain_log import load

load()
