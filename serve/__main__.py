"""Command line of the serving program: ``python -m serve``."""

from __future__ import annotations

from serve.cli.group import main

main()
