"""Migrations of the store of accounts and keys."""
