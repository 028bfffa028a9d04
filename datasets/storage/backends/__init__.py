"""One module per URL scheme, named after it, with the class `BACKEND` and the example address `EXAMPLE`."""
