"""The archive of a run's source: packaged from the seal, uploaded to the object store, its state recorded."""
