"""Command groups for operators: `accounts`, `keys`, `audit` and `access`."""

from serve.cli.accounts import accounts
from serve.cli.audit import audit
from serve.cli.keys import keys
from serve.cli.store import access

__all__ = ["access", "accounts", "audit", "keys"]
