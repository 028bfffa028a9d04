"""Documents derived from the declarations: parts of `docs/`, OpenAPI, the client's files, the documentation of the metrics, widgets."""
