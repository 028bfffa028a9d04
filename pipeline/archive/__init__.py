"""The archive of a run's source: packaged from the seal, uploaded to the object store, its state recorded."""

from pipeline.archive.exclusions import DEFAULT_EXCLUDE, exclusions
from pipeline.archive.package import package

__all__ = ["DEFAULT_EXCLUDE", "exclusions", "package"]
