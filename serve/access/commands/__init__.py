"""Command groups for operators: `accounts`, `keys`, `audit` and `access`."""

from serve.access.commands.access import access
from serve.access.commands.accounts import accounts
from serve.access.commands.audit import audit
from serve.access.commands.keys import keys

__all__ = ["access", "accounts", "audit", "keys"]
