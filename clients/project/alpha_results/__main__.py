"""``alpha-results``: the commands of ``pipeline``, and those of ``serve`` and ``datasets`` as subcommands.

``python -m alpha_results`` does the same. In a checkout the packages are beside this one; in a wheel they are inside it.
"""

from __future__ import annotations

import sys
from typing import Final

_COMMAND: Final = "alpha-results"


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # the command was still loading
        from schemas.exit_codes import ExitCode  # noqa: PLC0415 - it may not be loaded yet

        sys.exit(ExitCode.INTERRUPTED)


def _run(arguments: list[str]) -> None:
    word, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if word == "serve":
        from serve.cli.group import serve  # noqa: PLC0415 - no other command needs it

        serve(rest, prog_name=f"{_COMMAND} serve")
    elif word == "datasets":
        from datasets.__main__ import cli as datasets  # noqa: PLC0415 - no other command needs it

        datasets(rest, prog_name=f"{_COMMAND} datasets")
    elif word == "import":
        from alpha_results_seal.__main__ import main as seal  # noqa: PLC0415 - as above

        seal(arguments, program=_COMMAND)
    else:
        from alpha_results.group import cli  # noqa: PLC0415 - as above

        cli(arguments, prog_name=_COMMAND)


if __name__ == "__main__":
    main()
