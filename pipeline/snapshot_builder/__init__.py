"""From a checked seal to a published snapshot, one module a dataset."""

from pipeline.snapshot_builder.build_result import BuildResult
from pipeline.snapshot_builder.snapshot import build_seal

__all__ = ["BuildResult", "build_seal"]
