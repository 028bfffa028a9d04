"""Copies of a remote root on this machine: files compared with their digests, bounded in bytes."""
