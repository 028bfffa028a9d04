"""Command line of the serving program: ``python -m serve``."""

from __future__ import annotations

from serve.command_line import main

main()
