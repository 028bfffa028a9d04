"""Access control: keys, accounts, allow-lists, addresses and limits.

The application needs one object of this package, :class:`serve.auth.authenticator.Authenticator`. Its `authorize` runs
every check that comes before a request's own parameters, and answers with a
:class:`serve.auth.caller.Caller` or raises the documented error.
"""
