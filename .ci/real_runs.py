"""Build the real seals with the public commands and request a page of each endpoint from a running server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
ALPHA = "Test_sp500_momentum"


def output(*arguments: str) -> str:
    """Run one of the project's commands and return the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments, "--json"], cwd=REPOSITORY, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"python -m {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def command(*arguments: str) -> Any:
    """Run a command that prints one JSON document, and return it."""
    return json.loads(output(*arguments))


def build(*arguments: str) -> list[dict[str, Any]]:
    """Run a build and return the JSON lines of its seals, without the summary."""
    return [json.loads(line) for line in output("pipeline", "build", *arguments).splitlines()[:-1]]


def get(address: str, token: str | None = None) -> Any:
    """Request a page and return its body."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main(shared: Path) -> None:
    """Build, serve and request; exit non-zero at the first wrong page."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "published"
        seals = sorted(str(path) for path in (shared / "seals").iterdir())
        built = build(*seals, "--datasets", str(root))
        print({seal["alpha_id"]: round(sum(seal["seconds"].values()), 2) for seal in built})
        again = build(*seals, "--datasets", str(root))
        assert len(again) == len(seals), again
        assert all(seal["outcome"] == "unchanged" for seal in again), again
        where = ("--datasets", str(root))
        account = ("--email", "ci@example.com", "--admin", "--ceiling-endpoints", "all")
        command("serve", "accounts", "create", *account, *where)
        grants = ("--endpoints", "all", "--alphas", "all", "--runs", "all", "--raw")
        rate = ("--rate", "per_second=1000,per_minute=10000,per_day=100000,monthly=null")
        key = command(
            "serve", "keys", "issue", "--account", "ci@example.com", "--name", "ci", *grants, *rate, *where
        )
        port = 18080
        market = ("--market-data", str(shared / "data" / "spy.parquet"))
        server = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", *where, "--port", str(port), *market], cwd=REPOSITORY
        )
        try:
            base = f"http://127.0.0.1:{port}/v1"
            wait(server, base)
            pages(base, key["token"], key["key_id"])
        finally:
            server.terminate()
            server.wait(timeout=30)
        # After a graceful stop the server ends by the signal it received, as service managers expect.
        assert server.returncode in (0, -signal.SIGTERM), (
            f"the server left with exit code {server.returncode}"
        )


def wait(server: subprocess.Popen[bytes], base: str) -> None:
    """Wait until the server answers, for at most a minute."""
    for _ in range(600):
        if server.poll() is not None:
            sys.exit(f"the server stopped with exit code {server.returncode}")
        try:
            assert get(f"{base}/health")["status"] == "ok"
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
    sys.exit("the server did not answer within a minute")


def pages(base: str, token: str, key_id: str) -> None:
    """Request a page of every declared endpoint."""
    from schemas.endpoint import Shape
    from schemas.endpoints import ENDPOINTS

    filled = {"alpha": ALPHA, "date": "2020-01-03", "symbol": "SPY", "key_id": key_id, "table": "decisions"}
    extra = {
        "portfolio.trades": "?book=long_short",
        "performance.metrics": "?panel=1&doc=1&granularity=yearly",
    }
    others = [row["alpha_id"] for row in get(f"{base}/alphas", token)["data"] if row["alpha_id"] != ALPHA]
    assert others, "no other alpha to compare with"
    extra["research.correlations"] = f"?alphas={','.join([ALPHA, *others])}"
    extra["research.contribution"] = f"?alphas={','.join(others)}"
    expected = {"catalog.alphas.source.download": 503}  # no archives are configured
    for endpoint in ENDPOINTS.values():
        address = base.removesuffix("/v1") + endpoint.path.format(**filled) + extra.get(endpoint.id, "")
        begin = time.perf_counter()
        try:
            body, status = get(address, token), 200
        except urllib.error.HTTPError as error:
            body, status = json.load(error), error.code
        spent = time.perf_counter() - begin
        assert status == expected.get(endpoint.id, 200), (endpoint.id, status, body)
        if endpoint.shape is Shape.COLLECTION:
            assert body["data"], endpoint.id
            assert body["pagination"]["returned"] == len(body["data"]), endpoint.id
        print(f"{endpoint.id:<32} {status} {spent * 1000:7.1f} ms")


if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY))
    main(Path(sys.argv[1]).resolve())
