"""``alpha-results serve demo``: publish and serve three alphas on a simulated market.

It runs the public commands, one process each.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from datasets.disk import writing
from schemas.console.screen import Screen
from schemas.console.terminal import echo
from schemas.errors import DemoFailed
from schemas.project import module_name

_EMAIL: Final = "demo@simulated.example"
_READY_SECONDS: Final = 60.0
_SERVED: Final = """
{explorer}

Open it in a browser: the explorer, with a working key. All data are simulated. Ctrl-C stops the server.

For programs: the line below gives another shell the keys, the folders and the Python of this demo. After it the examples of
the README run as printed, in any folder.

. {environment}

curl -s -H "Authorization: Bearer $KEY" "$BASE/v1/alphas"
curl -s -H "Authorization: Bearer $RAW_KEY" "$BASE/v1/alphas/{alpha}/scores?from=2022-03-04&limit=2"   # with raw_score
"""


@click.command()
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".demo"),
    show_default=True,
    help="Folder for the demo's files; existing ones are reused.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=int, default=8000, show_default=True, help="Port; a busy one is replaced by a free one."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the simulated market.")
def demo(root: Path, host: str, port: int, seed: int) -> None:
    """Simulate a market, seal and build three alphas, issue two keys and serve them, with the explorer, until Ctrl-C."""
    screen = Screen(stderr=True)
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
    simulation, published = root / f"simulation-{seed}", root / "published"
    with _step(screen, "simulating a market of 100 names over two years, and three alphas on it"):
        simulated = _json(
            "pipeline", "simulate", "--out", str(simulation), "--seed", str(seed), "--replace", "--json"
        )
        echo(f"simulation  {simulation} ({simulated['status']})", err=True)
    with _step(screen, "checking the seals and building their snapshots"):
        built = _run("pipeline", "build", *simulated["seals"], "--datasets", str(published), "--json")
        for line in built.splitlines()[:-1]:  # the last line is a summary
            seal = json.loads(line)
            echo(f"snapshot    {seal['alpha_id']} {seal['snapshot']} ({seal['outcome']})", err=True)
    with _step(screen, "issuing two keys, one of them with raw-book access"):
        keys = _keys(root / "keys.json", published)
        echo(
            f"keys        {keys['plain']['key_id']}, and {keys['raw']['key_id']} with raw-book access",
            err=True,
        )
    port = _free(host, port)
    command = [
        sys.executable,
        "-m",
        module_name("serve"),
        "run",
        "--datasets",
        str(published),
        "--host",
        host,
        "--port",
        str(port),
        "--explorer",
    ]
    environment = os.environ | {
        "ALPHA_RESULTS_MARKET_DATA": str(simulation / "market"),
        # The server's log must not scroll the printed lines away.
        "ALPHA_RESULTS_LOG_LEVEL": "warning",
    }
    with _served(command, environment) as server:
        address = f"http://{host}:{port}"
        _wait_ready(server, f"{address}/v1/health")
        seals = Path(simulated["seals"][0]).parent
        echo(
            _SERVED.format(
                # A browser does not send the part after the #, so the key is in no log.
                explorer=f"{address}/explorer#key={keys['plain']['token']}",
                environment=_environment_file(root, address, keys, seals),
                alpha=Path(simulated["seals"][0]).name,
            )
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.wait()
    if server.returncode not in (0, -signal.SIGINT, -signal.SIGTERM):
        raise DemoFailed(f"the server stopped by itself with exit code {server.returncode}")
    echo("\nstopped")


def _environment_file(root: Path, base: str, keys: dict[str, Any], seals: Path) -> Path:
    """Write a shell file with the variables of the README's examples and their PATH; private, because it has keys."""
    variables = {
        "BASE": base,
        "KEY": keys["plain"]["token"],
        "RAW_KEY": keys["raw"]["token"],
        # Read by `Client()`.
        "ALPHA_RESULTS_URL": base,
        "ALPHA_RESULTS_KEY": keys["plain"]["token"],
        "ROOT": str((root / "published").resolve()),
        "SEALS": str(seals.resolve()),
        "MARKET": str((seals / "market").resolve()),
    }
    programs = Path(sys.executable).absolute().parent  # with `python` and `alpha-results`
    file = (root / "env").resolve()
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    lines.append(f'export PATH={shlex.quote(str(programs))}:"$PATH"\n')
    _write_private(file, "".join(lines))
    return file


def _write_private(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)


def _keys(file: Path, published: Path) -> dict[str, Any]:
    """Return the demo's two keys, issued at the first run and stored in a private file."""
    store = published.with_name(published.name + ".access.sqlite3")
    if file.exists() and store.exists():
        stored: dict[str, Any] = json.loads(file.read_text())
        return stored
    store_options = ("--datasets", str(published), "--json")
    accounts = _json("serve", "accounts", "list", *store_options) if store.exists() else []
    if not any(account["email"] == _EMAIL for account in accounts):
        # An administrator's account, so that the explorer also shows the reconciliation.
        _json(
            "serve",
            "accounts",
            "create",
            "--email",
            _EMAIL,
            "--admin",
            "--ceiling-endpoints",
            "all",
            *store_options,
        )
    grants = (
        "--endpoints",
        "all",
        "--alphas",
        "all",
        "--runs",
        "all",
        "--rate",
        "per_second=50,per_minute=1000",
    )
    issue = ("serve", "keys", "issue", "--account", _EMAIL, *grants, *store_options)
    keys = {
        "plain": _json(*issue, "--name", "demo"),
        "raw": _json(*issue, "--name", "demo with raw books", "--raw"),
    }
    _write_private(file, json.dumps(keys))
    return keys


def _json(package: str, *arguments: str) -> Any:
    """Run one of the project's commands and read its JSON answer."""
    return json.loads(_run(package, *arguments))


def _run(package: str, *arguments: str) -> str:
    """Run one of the project's commands and return its output."""
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", module_name(package), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = done.stderr.strip() or done.stdout.strip()
        with contextlib.suppress(ValueError, TypeError, KeyError):  # not the one object of an error
            reason = json.loads(reason)["message"]
        raise DemoFailed(f"python -m {module_name(package)} {arguments[0]} failed: {reason}")
    return done.stdout


@contextlib.contextmanager
def _step(screen: Screen, title: str) -> Iterator[None]:
    if screen.is_terminal:
        with screen.status(title + " …"):
            yield
    else:
        yield


@contextlib.contextmanager
def _served(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server as a child process that ends with the block."""
    server = subprocess.Popen(command, env=environment)  # noqa: S603 - our own command
    previous = signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    try:
        yield server
    finally:
        # A terminal sends Ctrl-C to all processes of the group, and a parent may pass it on again.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, previous)
        if server.poll() is None:
            # Ctrl-C reached the server, too; terminate covers other exits.
            server.terminate()
        server.wait()


def _wait_ready(server: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise DemoFailed(
                f"the server stopped at once with exit code {server.returncode}; its message is above"
            )
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(address, timeout=1).close()  # noqa: S310 - our own loopback address
            return
        time.sleep(0.1)
    raise DemoFailed(f"{address} did not answer within {_READY_SECONDS:.0f} seconds")


def _free(host: str, port: int) -> int:
    """Return the given port, or a free one if it is in use."""
    for candidate in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, candidate))
                bound_port: int = probe.getsockname()[1]
                if port and bound_port != port:
                    echo(f"port {port} is taken; using {bound_port}", err=True)
                return bound_port
    raise DemoFailed(f"no free port on {host}")
