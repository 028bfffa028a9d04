"""Runs the image's steps in a clean root file system without a container engine.

Run ``python -m tests.deploy.image ROOT SCRIPT`` in its own mount namespace (``unshare --mount``). This machine's programs, libraries
and Python, mounted read-only, stand in for the base image. Packages come from uv's cache if it has them. Everything else is as in the
Dockerfile: stages, copies, commands, variables, user, entry point. Then a shell script runs with a root that is read-only except for
`/state`, `/tmp` and `/published`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]
DEPLOY: Final = REPOSITORY / "deploy"
_BASE: Final = (
    "/usr",
    "/etc/ssl",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
)
_LINKS: Final = ("bin", "sbin", "lib", "lib64")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def in_context(path: str) -> bool:
    """Whether .dockerignore includes a file in the build; the last matching pattern decides."""
    allowed = True
    for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").replace("**/", "*")
        above = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
        if any(fnmatch.fnmatch(each, pattern) for each in above):
            allowed = line.startswith("!")
    return allowed


class Stage:
    """A clean root, modified by the instructions so far."""

    def __init__(self, root: Path, shared: list[str]) -> None:
        self.root, self.folder, self.user = root, "/", ""
        self.variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        root.mkdir(parents=True)
        for place in (*_BASE, *shared):
            self.bind(place, write=place == shared[-1])  # uv's cache must be writable, since uv locks it
        for name in _LINKS:
            if Path("/", name).is_symlink():
                (root / name).symlink_to(Path("/", name).readlink())
            elif Path("/", name).is_dir():
                self.bind(f"/{name}")
        for name in ("tmp", "dev", "proc", "var", "root"):
            (root / name).mkdir(exist_ok=True)
        for kind, at in (("tmpfs", "tmp"), ("proc", "proc")):
            subprocess.run(["mount", "-t", kind, kind, str(root / at)], check=True)
        self.bind("/dev", write=True)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\n")

    def bind(self, place: str, *, write: bool = False) -> None:
        """Bind-mount a path of this machine into the root."""
        if not Path(place).exists():
            return
        target = self.root / place.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.mkdir(exist_ok=True) if Path(place).is_dir() else target.touch()
        subprocess.run(["mount", "--rbind" if write else "--bind", place, str(target)], check=True)
        if not write:
            subprocess.run(["mount", "-o", "remount,bind,ro", str(target)], check=True)

    def set(self, word: str, rest: str) -> None:
        """Set a folder, a user or variables."""
        if word == "WORKDIR":
            self.folder = rest
            (self.root / rest.removeprefix("/")).mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            for name, value in re.findall(r"(\w+)=(\S+)", rest):
                self.variables[name] = value.replace("$PATH", self.variables["PATH"])
        elif word == "ARG":
            name, _, value = rest.partition("=")
            self.variables[name] = value.strip('"')
        elif word == "USER":
            self.user = rest.partition(":")[0]

    def run(self, command: list[str], **more: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command in the root, as its user."""
        user = [
            "setpriv",
            f"--reuid={self.user}",
            f"--regid={self.user}",
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set=-all",
        ]
        inside = [
            "sh",
            "-c",
            'cd "$1"; shift; exec "$@"',
            "-",
            self.folder,
            *(user if self.user else []),
            *command,
        ]
        return subprocess.run(
            ["chroot", str(self.root), *inside],
            env={**self.variables, **more},
            check=True,
            stdin=subprocess.DEVNULL,
        )

    def copy(self, words: list[str], others: dict[str, Stage]) -> None:
        """Copy from the repository, subject to .dockerignore, or from another stage."""
        *sources, target = [word for word in words if not word.startswith("--")]
        origin = next((word.partition("=")[2] for word in words if word.startswith("--from=")), None)
        into = self.root / self.folder.removeprefix("/") / target
        for source in sources:
            if origin is not None:  # a rename suffices: the other stage no longer needs it
                (others[origin].root / source.removeprefix("/")).rename(into)
                continue
            result = REPOSITORY / source
            files = [path for path in result.rglob("*") if path.is_file()] if result.is_dir() else [result]
            for path in files:
                relative = path.relative_to(REPOSITORY).as_posix()
                if in_context(relative):
                    place = (
                        into / path.relative_to(result)
                        if result.is_dir()
                        else (into / path.name if target.endswith("/") else into)
                    )
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, place)


def carried_out(root: Path, shared: list[str], uv: str) -> tuple[Stage, list[str]]:
    """Execute every instruction; return the last stage and its command."""
    stages: dict[str, Stage] = {}
    entry: list[str] = []
    for word, rest in instructions():
        if word == "FROM":
            name = rest.partition(" AS ")[2] or "image"
            stages[name] = Stage(root / name, shared)
        elif not stages:
            assert word == "ARG", "which image it begins with: this machine stands in for it"
        elif word in {"ENTRYPOINT", "CMD"}:
            entry += json.loads(rest)
        elif word == "RUN":
            if "pip install" not in rest:  # that brings uv, which is here
                stages[name].run(["sh", "-ec", rest], **from_cache(shared, uv, stages[name]))
        elif word == "COPY":
            stages[name].copy(shlex.split(rest), stages)
        else:
            stages[name].set(word, rest)
    return stages[name], entry


def from_cache(shared: list[str], uv: str, stage: Stage) -> dict[str, str]:
    """Return the variables that make uv use its cache."""
    prefixes = ("UV_INDEX", "UV_DEFAULT", "PIP_", "SSL_", "HTTP")
    return {name: value for name, value in os.environ.items() if name.startswith(prefixes)} | {
        "UV_NO_CACHE": "false",
        "UV_CACHE_DIR": shared[-1],
        "UV_COMPILE_BYTECODE": "0",
        "UV_PYTHON": str(Path(sys.base_prefix) / "bin" / "python3"),
        "PATH": f"{Path(uv).parent}:{stage.variables['PATH']}",
    }


def main() -> None:
    """Build the image's root, and run the script in it."""
    root, script = Path(sys.argv[1]), sys.argv[2]
    beside = Path(sys.base_prefix) / "bin" / "uv"
    uv = str(beside) if beside.exists() else shutil.which("uv")
    assert uv is not None
    cache = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    shared = [sys.base_prefix, str(Path(uv).resolve().parent), str(Path(uv).parent), cache]
    stage, entry = carried_out(
        root, [place for place in dict.fromkeys(shared) if not place.startswith("/usr/")], uv
    )
    (stage.root / "published").mkdir()
    os.chown(stage.root / "published", 10001, 10001)
    subprocess.run(["mount", "--rbind", str(stage.root), str(stage.root)], check=True)
    for place in ("state", "published"):
        subprocess.run(["mount", "--bind", str(stage.root / place), str(stage.root / place)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(stage.root)], check=True)
    stage.run(
        ["sh", "-ec", script],
        ENTRY=shlex.join(entry),
        **{k: v for k, v in os.environ.items() if k.startswith("ALPHA_")},
    )


if __name__ == "__main__":
    main()
