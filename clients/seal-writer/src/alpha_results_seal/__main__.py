"""``alpha-results-seal``: commands to write, check and sign seals.

Exit code: 0 when done, 1 when a seal is refused, 2 when an argument cannot be used, 5 when a file cannot be read or written, for
instance on a full disk, 130 when interrupted, 141 when the reader of the output closed it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from alpha_results_seal import Calendar, Costs, Ledger, SealError, SealRefused, SealWriter
from alpha_results_seal.checks import check_folder
from alpha_results_seal.conformance import write_conformance
from alpha_results_seal.plurals import counted
from alpha_results_seal.signing import make_key, sign, verify

REFUSED, UNUSABLE, DISK, INTERRUPTED, OUTPUT_CLOSED = 1, 2, 5, 130, 141


def main(arguments: Sequence[str] | None = None, *, program: str = "alpha-results-seal") -> None:
    """Run a command and exit with its code."""
    options = _parser(program).parse_args(arguments)
    try:
        answer: dict[str, Any] = options.run(options)
    except SealError as error:
        problems = error.problems if isinstance(error, SealRefused) else (str(error),)
        _report(error, str(error), problems, as_json=options.as_json)
        sys.exit(_exit_code(error))
    except OSError as error:
        text = f"{error.filename or 'a file'}: {error.strerror or error}"
        _report(error, text, (text,), as_json=options.as_json)
        sys.exit(DISK)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    lines, exit_code = answer.pop("lines"), answer.pop("exit_code", 0)
    _print(json.dumps(answer, indent=2) if options.as_json else "\n".join(lines))
    sys.exit(exit_code)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        program, description="Seals of backtests.", epilog=str(__doc__).partition("\n\n")[2]
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    importing = commands.add_parser(
        "import",
        help="Write a seal from scores and prices.",
        description="Write a seal from scores and prices: a book of the equally weighted tails of each week's last scores, filled at "
        "the next session's open, or close if prices have no open. Prints its assumptions.",
    )
    importing.set_defaults(run=import_scores)
    importing.add_argument(
        "scores",
        metavar="SCORES",
        help="CSV or Parquet: date, symbol, score; or one row per day and one column per name",
    )
    importing.add_argument(
        "prices",
        metavar="PRICES",
        help="CSV or Parquet: date, symbol, close and preferably open; or closes, one column per name",
    )
    importing.add_argument("--alpha-id", help="id of the alpha; by default 'Test_' and the name of SCORES")
    importing.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder of the seal; by default seals/ and the alpha id"
    )
    importing.add_argument("--tails", type=float, default=0.2, help="share of the names in each tail (0.2)")
    for name, meaning in (
        ("fee", "commission, as a fraction of the traded value"),
        ("impact", "slippage of fills, as a fraction of the price"),
        ("borrow", "borrow cost per session, as a fraction of the value of short positions"),
        ("interest", "return per session on cash"),
        ("recovery", "share of its last close received for a position without further prices"),
    ):
        importing.add_argument(f"--{name}", type=float, metavar="RATE", help=meaning)
    importing.add_argument(
        "--hours",
        nargs=3,
        metavar=("ZONE", "OPEN", "CLOSE"),
        help="exchange hours, by default America/New_York 09:30 16:00",
    )
    checking = commands.add_parser("check", help="Check seals against every rule of the format.")
    checking.set_defaults(run=check_seals)
    checking.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a seal on a local disk")
    checking.add_argument("--strict", action="store_true", help="also refuse a seal with warnings")
    conforming = commands.add_parser(
        "conformance", help="Write twelve valid and invalid seals, to test a reader."
    )
    conforming.set_defaults(run=conformance)
    conforming.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    key = commands.add_parser("make-key", help="Create the key pair of a team, and print the public key.")
    key.set_defaults(run=new_key)
    key.add_argument("key", type=Path, metavar="KEY", help="a new PEM file for the private key")
    signing = commands.add_parser("sign", help="Sign a finished seal.")
    signing.set_defaults(run=sign_seal)
    signing.add_argument("folder", type=Path, metavar="FOLDER", help="a seal on a local disk")
    signing.add_argument("--key", type=Path, required=True, metavar="KEY", help="the private key, a PEM file")
    verifying = commands.add_parser(
        "verify", help="Verify a receipt with public keys, and print who signed which seal."
    )
    verifying.set_defaults(run=verify_receipt)
    verifying.add_argument(
        "receipt", type=Path, metavar="RECEIPT", help="the seal.dsse.json of a seal, or a copy"
    )
    verifying.add_argument(
        "--keys", type=Path, required=True, metavar="FILE", help="JSON: team to a list of public keys"
    )
    verifying.add_argument(
        "--seal", type=Path, metavar="FOLDER", help="the seal that the receipt must belong to"
    )
    for command in commands.choices.values():
        command.add_argument("--json", dest="as_json", action="store_true", help="print one JSON document")
    return parser


def import_scores(options: argparse.Namespace) -> dict[str, Any]:
    """Write a seal from two files, and print the assumptions."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(options.scores).stem)
    alpha_id = options.alpha_id or f"Test_{stem}"
    rates = {name: getattr(options, name) for name in ("fee", "impact", "borrow", "interest", "recovery")}
    rates = {name: rate for name, rate in rates.items() if rate is not None}
    writer = SealWriter(options.out or Path("seals", alpha_id), alpha_id=alpha_id)
    ledger = Ledger.from_scores(
        options.scores,
        options.prices,
        tails=options.tails,
        costs=Costs(**rates) if rates else None,
        calendar=Calendar(*options.hours) if options.hours else None,
    )
    folder = writer.add_ledger(ledger).write()
    rows = {kind: frame.height for kind, frame in ledger.tables.items()}
    return {
        "seal": str(folder),
        "alpha_id": alpha_id,
        "rows": rows,
        "notes": ledger.notes,
        "lines": [
            f"{folder}: {counted(rows['rebalances'], 'week')}, {counted(rows['decisions'], 'decision')}, {counted(rows['trades'], 'fill')}",
            *(f"assumed: {note}" for note in ledger.notes),
        ],
    }


def check_seals(options: argparse.Namespace) -> dict[str, Any]:
    """Check each seal; the exit code is the worst."""
    seals: list[dict[str, Any]] = []
    lines, exit_code = [], 0
    for folder in options.folders:
        try:
            report = check_folder(folder)
        except SealError as error:
            exit_code = UNUSABLE
            seals.append({"seal": str(folder), "error": type(error).__name__, "message": str(error)})
            lines.append(f"error: {error}")
            continue
        broken = [*report["violations"], *(report["warnings"] if options.strict else ())]
        exit_code = max(exit_code, REFUSED if broken else 0)
        seals.append({"seal": str(folder), "refused": bool(broken), **report})
        lines.append(f"{folder}: {'refused' if broken else 'accepted'}")
        lines += [f"  {x['rule']} ({x['file']}): {x['message']}. {x['remedy']}" for x in broken]
        lines += [
            f"  notice {x['notice']}: {x['message']}"
            for x in report["notices"]
            if x.get("outcome") == "notice"
        ]
    return {"seals": seals, "lines": lines, "exit_code": exit_code}


def conformance(options: argparse.Namespace) -> dict[str, Any]:
    """Write the twelve seals of the specification."""
    expected = write_conformance(options.folder)
    valid = sum(not rules for rules in expected.values())
    return {
        "expected": expected,
        "lines": [f"{options.folder}: {valid} valid seals, {len(expected) - valid} invalid ones"],
    }


def new_key(options: argparse.Namespace) -> dict[str, Any]:
    """Create a key."""
    public = make_key(options.key)
    return {"key": str(options.key), "public": public, "lines": [public]}


def sign_seal(options: argparse.Namespace) -> dict[str, Any]:
    """Sign a seal."""
    place = sign(options.folder, options.key)
    return {"signature": str(place), "lines": [str(place)]}


def verify_receipt(options: argparse.Namespace) -> dict[str, Any]:
    """Verify a receipt."""
    verified = verify(options.receipt, options.keys, options.seal)
    line = f"{verified.alpha_id}, sealed at {verified.sealed_at}, signed by {verified.team}; SHA-256 of seal.json {verified.seal_digest}"
    return {**asdict(verified), "lines": [line]}


def _exit_code(error: SealError) -> int:
    """Return the exit code of an error: a path that names no file, or the wrong kind, is an argument to correct."""
    if isinstance(error, SealRefused):
        return REFUSED
    wrong_path = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
    failed = isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, wrong_path)
    return DISK if failed else UNUSABLE


def _report(error: Exception, text: str, problems: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        _print(json.dumps({"error": type(error).__name__, "problems": problems}))
    else:
        sys.stderr.write(f"error: {text}\n")


def _print(text: str) -> None:
    """Print a text, with escapes for what the encoding of the output lacks; nothing if the caller closed the output."""
    try:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        print(text, flush=True)  # noqa: T201 - sys.stdout is None if it was closed before the start; print accepts that
    except OSError as error:
        # What is still buffered goes nowhere; at exit, Python would report that it cannot be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(OUTPUT_CLOSED)
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
        sys.exit(DISK)


if __name__ == "__main__":
    main()
