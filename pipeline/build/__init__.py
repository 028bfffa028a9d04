"""From a checked seal to a published snapshot, one module a dataset."""

from pipeline.build.build_result import BuildResult
from pipeline.build.snapshot import build_seal

__all__ = ["BuildResult", "build_seal"]
