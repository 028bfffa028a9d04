"""A program in a pseudo-terminal, and its final screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path

from tests.support.processes import environment

_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>]|[\r\n]|[^\x1b\r\n]+")


def in_a_terminal(
    command: Sequence[str], folder: Path, *, columns: int = 80, stdout: Path | None = None
) -> tuple[int, str]:
    """Run a program in a terminal of this width; return its exit code and final screen.

    Parameters
    ----------
    stdout
        A file for the standard output; by default that is the terminal as well.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 2000, columns, 0, 0))
    output = theirs if stdout is None else os.open(stdout, os.O_CREAT | os.O_WRONLY)
    with subprocess.Popen(
        list(command), cwd=folder, env=environment(TERM="xterm-256color", COLUMNS=str(columns), LINES="2000"),
        stdin=theirs, stdout=output, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # raised on Linux once the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return process.returncode, window(shown.decode())


def window(written: str) -> str:
    """Return the lines of a terminal after output with carriage returns, cursor movement and erasing."""
    lines: list[list[str]] = [[]]
    row = column = 0
    for piece in _PIECE.finditer(written):
        text = piece[0]
        if text == "\r":
            column = 0
        elif text == "\n":
            row, column = row + 1, 0
            while len(lines) <= row:
                lines.append([])
        elif text.startswith("\x1b"):
            count = int(piece[1]) if piece[1] and piece[1].isdigit() else 1
            if piece[2] == "A":
                row = max(0, row - count)
            elif piece[2] == "K":
                lines[row] = [] if count == 2 else lines[row][:column]
        else:
            line = lines[row]
            line += [" "] * (column - len(line))
            line[column : column + len(text)] = text
            column += len(text)
    return "\n".join("".join(line).rstrip() for line in lines)
