"""One module for each scheme of an address, named after it, with `BACKEND`, a class, and `EXAMPLE`, an address."""
