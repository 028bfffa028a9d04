"""The command group of every program: commands are imported when called, and errors have one form."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import click
from click.exceptions import Exit, NoSuchCommand

from schemas.console.terminal import echo
from schemas.errors import AlphaResultsError, SealRefused, SettingsError
from schemas.exit_codes import ExitCode
from schemas.instants import utc_text
from schemas.settings import misspelt_variables


class LazyCommand(NamedTuple):
    """Location of a command, and its line in the overview."""

    module: str
    name: str
    summary: str


_NOT_WRITTEN: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def _is_of_output(error: Exception) -> bool:
    """Return whether the output could not be written; errors of files have a name, and are translated by `datasets.disk`."""
    return isinstance(error, OSError) and error.errno in _NOT_WRITTEN and error.filename is None


@contextlib.contextmanager
def _while_output_works() -> Iterator[None]:
    """End the program once its output cannot be written.

    If the reader has gone, it ends quietly, with the code of a program that SIGPIPE ended. SIGPIPE itself stays ignored: it would
    also end the program when a store closes a connection. If the disk of the output is full, it ends with one line.
    """
    try:
        yield
    except BrokenPipeError:
        # Python writes the rest of its buffers at exit, and would report that they cannot be written.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        raise Exit(ExitCode.OUTPUT_CLOSED) from None
    except OSError as error:
        if not _is_of_output(error):
            raise
        with contextlib.suppress(OSError):  # standard error may be on the same disk
            why = f"{error.strerror}; make room on its disk, or send it elsewhere, and run the command again"
            echo(f"error: the output cannot be written: {why}", err=True)
        raise Exit(ExitCode.STORE_AWAY) from None


class CommandGroup(click.Group):
    """Command group whose ``--help`` lists the exit codes, and the commands without importing them, so that it loads no engine.

    Parameters
    ----------
    lazy
        Command -> location.
    """

    def __init__(self, *arguments: Any, lazy: Mapping[str, LazyCommand], **options: Any) -> None:
        super().__init__(*arguments, context_settings={"help_option_names": ["-h", "--help"]}, **options)
        self.lazy: Final = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import a command; None if there is none of that name."""
        if cmd_name not in self.lazy:
            return None
        entry = self.lazy[cmd_name]
        command = getattr(importlib.import_module(entry.module), entry.name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; an unknown name is a usage error that suggests the nearest ones."""
        if args[0] not in self.lazy and not ctx.resilient_parsing:
            raise NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.lazy.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """List the exit codes."""
        with formatter.section("Exit codes of every command"):
            formatter.write_dl([(str(code.value), code.meaning) for code in ExitCode])

    @_while_output_works()
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record whether output is JSON, before the command parses its options."""
        ctx.meta["as_json"] = "--json" in args
        return super().parse_args(ctx, args)

    @_while_output_works()
    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and exit with the code of its error.

        An error of the project is printed as one line on standard error, a bug as a traceback. With ``--json``, an error of the
        project or a usage error is printed as an object on standard output. A misspelt environment variable would be ignored,
        so each one causes a warning.
        """
        for warning in misspelt_variables(os.environ):
            echo(f"warning: {warning}", err=True)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)
        except AlphaResultsError as error:
            if ctx.meta["as_json"]:
                echo(json.dumps(_payload(error)))
            else:
                echo(f"error: {' '.join(str(error).split())}", err=True)
            ctx.exit(error.exit_code)
        except click.UsageError as error:
            if ctx.meta["as_json"]:
                echo(json.dumps(_payload(SettingsError(error.format_message()))))
            raise
        except (click.ClickException, click.Abort, Exit, BrokenPipeError):
            raise
        except Exception as error:
            if _is_of_output(error):
                raise
            # A bug: Python's own exit code 1 says that a seal breaks a rule.
            echo(traceback.format_exc(), err=True, nl=False)
            ctx.exit(ExitCode.PROGRAM_FAILED)


def _payload(error: AlphaResultsError) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "at": utc_text(datetime.now(UTC), "milliseconds"),
        "error": type(error).__name__,
        "message": str(error),
        "retryable": error.retryable,
        "exit_code": int(error.exit_code),
    }
    if isinstance(error, SealRefused):
        payload["violations"] = list(error.violations)
    return payload
