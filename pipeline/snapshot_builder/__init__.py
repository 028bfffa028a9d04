"""Builds a published snapshot from a checked seal."""

from pipeline.snapshot_builder.build_result import BuildResult
from pipeline.snapshot_builder.snapshot import build_seal

__all__ = ["BuildResult", "build_seal"]
