"""Command line of the serving program: ``alpha-results serve``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from serve.cli.group import serve

        serve(prog_name="alpha-results serve")
    except KeyboardInterrupt:  # it was still loading, or asking the stores
        from schemas.exit_codes import ExitCode

        sys.exit(ExitCode.INTERRUPTED)
