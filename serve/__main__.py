"""Command line of the serving program: ``python -m serve``."""

from __future__ import annotations

import sys

from serve.runtime import restart_with_allocator_settings

if __name__ == "__main__":
    restart_with_allocator_settings(sys.argv[1:])
    from serve.cli.group import main

    main()
