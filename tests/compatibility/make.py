"""Write what this release publishes as a small archive: `PYTHONPATH=. python tests/compatibility/make.py RELEASE`.

It is run once for a release, and its archive is never written again: what later releases read is what this one wrote.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from click.testing import CliRunner

from pipeline.__main__ import cli
from pipeline.build import build_seal
from tests.support.seals import make_seal


def main(archive: Path) -> None:
    """Publish two seals of one alpha and roll back from the later one; publish one of another alpha."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        root = folder / "root"
        for day in ("2026-01-01", "2026-01-02"):
            seal = make_seal(
                folder / "seals" / day, alpha_id="Test_back", weeks=14, seed=int(day[-1]), sealed_at=f"{day}T00:00:00Z",
                raw=False, source=False, skipped=False, trades=False, metrics=False,
            )  # fmt: skip
            build_seal(str(seal), root)
        result = CliRunner().invoke(cli, ["rollback", "Test_back", "--datasets", str(root)])
        assert result.exit_code == 0, result.output
        seal = make_seal(
            folder / "seals" / "whole", alpha_id="Test_whole", weeks=14, sealed_at="2026-01-03T00:00:00Z",
            without_kinds=("positions", "pnl"), raw=False, source=False,
        )  # fmt: skip
        build_seal(str(seal), root)
        shutil.rmtree(root / ".staging")
        with tarfile.open(archive, "w:xz") as packed:
            for name in ("root", "seals"):
                packed.add(folder / name, name)


if __name__ == "__main__":
    main(Path(__file__).with_name(f"{sys.argv[1]}.tar.xz"))
