"""Command line of the offline program: ``alpha-results``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from pipeline.group import cli

        cli(prog_name="alpha-results")
    except KeyboardInterrupt:  # it was still loading
        from schemas.exit_codes import ExitCode

        sys.exit(ExitCode.INTERRUPTED)
