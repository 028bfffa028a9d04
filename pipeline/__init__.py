"""Offline side: a seal is checked and materialised as an immutable snapshot."""
