"""One module per scheme, named after it, with `BACKEND`, a class, and `EXAMPLE`, an address."""
