"""Access control: keys, accounts, allow-lists, addresses and limits.

The application uses one object of this package, :class:`serve.auth.authenticator.Authenticator`. Its `authorize` runs
every check that precedes those of a request's parameters; it returns a :class:`serve.auth.caller.Caller` or raises the
documented error.
"""
