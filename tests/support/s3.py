"""A real S3 server for the tests: Ceph's gateway over one monitor and one in-memory object daemon.

It checks signatures, expiries and permissions, which in-process imitations of S3 do not. Its Debian packages are
``radosgw ceph-mon ceph-osd ceph-common``. It writes only into one temporary folder, needs no root privileges, and
listens only on loopback.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tests.support.ports import free_ports
from tests.support.processes import hanging

BINARIES: Final = ("radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool", "ceph-authtool")
PATIENCE: Final = 90.0
"""Seconds to wait until a daemon is ready, on a machine that is busy with other tests."""

_CONF: Final = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public network = 127.0.0.0/8
cluster network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = {folder}/keyring
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
mon cluster log file = {folder}/cluster.log
mon data = {folder}/mon
mon data avail crit = 1
mon data avail warn = 2
mon allow pool size one = true
paxos propose interval = 0.05
paxos min wait = 0.01
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd class load list = *
osd class default list = *
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
crush location = root=default host=localhost
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{port}
rgw thread pool size = 32
rgw dns name = localhost
rgw init timeout = 80
rgw cache enabled = false
"""


def missing_binaries() -> tuple[str, ...]:
    """Name the programs that are not installed; empty when the server can be started."""
    return tuple(name for name in BINARIES if shutil.which(name) is None)


class ServerFailed(Exception):
    """A daemon ended or did not become ready; the message holds the end of its log."""


@dataclass(frozen=True)
class Account:
    """Keys of one S3 user of this throw-away server."""

    access_key: str = "AKIDOFTHETESTSUITE"
    secret_key: str = "of-no-use-anywhere-but-on-the-loopback"


class S3Server:
    """One monitor, one object daemon and one gateway, with an S3 user.

    Use it as a context manager. :meth:`stop` and :meth:`start` stop and restart only the gateway, on the same port and
    with the same objects.
    """

    def __init__(self, account: Account | None = None) -> None:
        self.account = account or Account()
        self._folder = Path()
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._port = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        """Log in which the gateway records every request."""
        return self._folder / "client.rgw.log"

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables of an S3 client."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.account.access_key,
            "AWS_SECRET_ACCESS_KEY": self.account.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def __enter__(self) -> Self:
        # Not below pytest's folder, since the path of a socket is limited to 107 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="s3-"))
        try:
            self._set_up()
            self.start()
            self._make_user()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("radosgw", "ceph-osd", "ceph-mon"):
            self._end(name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the gateway and wait until it answers."""
        (self._folder / "rgw").mkdir(exist_ok=True)
        self._daemon("radosgw", "-n", "client.rgw")
        self._until("radosgw", self._answers)

    def stop(self) -> None:
        """Stop the gateway; its objects stay in the object daemon."""
        self._end("radosgw")

    def kill(self) -> None:
        """Kill the gateway in the middle of whatever it does."""
        daemon = self._daemons.pop("radosgw")
        daemon.kill()
        daemon.wait()

    def hanging(self) -> contextlib.AbstractContextManager[None]:
        """Make the gateway hang within the block."""
        return hanging(self._daemons["radosgw"].pid)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Stop the gateway within the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Refuse every request with 403 within the block."""
        self._run("radosgw-admin", "user", "suspend", "--uid=tests")
        try:
            yield
        finally:
            self._run("radosgw-admin", "user", "enable", "--uid=tests")

    def _set_up(self) -> None:
        folder = self._folder
        fsid = str(uuid.uuid4())
        self._port, v2, v1 = free_ports(3)
        (folder / "ceph.conf").write_text(
            _CONF.format(fsid=fsid, folder=folder, port=self._port, v2=v2, v1=v1)
        )
        for name in ("mon", "osd"):
            (folder / name).mkdir()
        keyring = str(folder / "keyring")
        allow = ("--cap", "mon", "allow *", "--cap", "osd", "allow *")
        self._run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", *allow)
        for name in ("client.admin", "client.rgw", "osd.0"):
            self._run("ceph-authtool", keyring, "--gen-key", "-n", name, *allow)
        monmap = str(folder / "monmap")
        addresses = f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]"
        self._run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", addresses, monmap)
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring)
        self._daemon("ceph-mon", "-i", "a")
        self._run("ceph", "--connect-timeout", str(int(PATIENCE)), "osd", "create")
        self._run("ceph-osd", "-i", "0", "--mkfs")
        self._daemon("ceph-osd", "-i", "0")

    def _make_user(self) -> None:
        self._run(
            "radosgw-admin", "user", "create", "--uid=tests", "--display-name=tests",
            f"--access-key={self.account.access_key}", f"--secret-key={self.account.secret_key}",
        )  # fmt: skip

    def _run(self, program: str, *arguments: str) -> None:
        conf = () if program in {"monmaptool", "ceph-authtool"} else ("-c", str(self._folder / "ceph.conf"))
        done = subprocess.run(
            [program, *conf, *arguments], capture_output=True, timeout=PATIENCE, check=False
        )
        if done.returncode:
            raise ServerFailed(f"{program} {arguments[0]}: {done.stderr.decode(errors='replace')[-2000:]}")

    def _daemon(self, program: str, *arguments: str) -> None:
        # Tied to the test process, so that a killed suite leaves no daemon behind.
        tie = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()
        with (self._folder / f"{program}.out").open("ab") as output:
            self._daemons[program] = subprocess.Popen(
                [*tie, program, "-c", str(self._folder / "ceph.conf"), "-f", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _until(self, program: str, ready: object) -> None:
        assert callable(ready)
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if self._daemons[program].poll() is not None or time.monotonic() > deadline:
                log = (self._folder / f"{program}.out").read_text(errors="replace")[-2000:]
                raise ServerFailed(f"{program} is not ready: {log}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status < 500
        except OSError:
            return False
        finally:
            connection.close()

    def _end(self, name: str) -> None:
        daemon = self._daemons.pop(name, None)
        if daemon is None:
            return
        daemon.terminate()
        try:
            daemon.wait(timeout=15)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
