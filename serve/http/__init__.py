"""HTTP: protocol, router, request, order of checks, responses."""
