"""From a checked seal to a published snapshot, one module a dataset."""

from pipeline.build.snapshot import BuildResult, build_seal

__all__ = ["BuildResult", "build_seal"]
