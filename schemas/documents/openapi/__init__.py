"""OpenAPI 3.1, derived from the declarations of endpoints, parameters, payloads and errors."""

from schemas.documents.openapi.document import document, rendered

__all__ = ["document", "rendered"]
