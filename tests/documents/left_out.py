"""Blocks of the pages that are not run, each with the reason.

A test checks that every file named in a reason exists.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.documents.pages import Block

DEMO: Final = "tests/documents/conftest.py starts the demo by the command of the recipe"
INSTALLED: Final = "tests/install/test_project_wheel.py installs the wheel and runs what it brings"
DEPLOYED: Final = "tests/deploy/test_first_deployment.py runs the steps in their order"
RESTORED: Final = "tests/deploy/test_restore.py loses what was copied, and runs them in their order"
UPGRADED: Final = "tests/deploy/test_upgrade.py runs the steps between two checkouts"
PATCHES: Final = "tests/contributing/test_examples.py applies it to a copy and tries what it then has"
DATASETS: Final = "tests/install/test_datasets_wheel.py installs the wheel and runs the page there"
BUCKET: Final = (
    "no such bucket here: its words and flags are compared with the program's; tests/s3/ runs both on one"
)
ENGINES: Final = "tests/importers/test_importers.py does it with results of these engines"
NOT_RUNNABLE: Final = "not runnable: a message, a layout or a file"


class LeftOut(NamedTuple):
    """Blocks of a page with this prefix, and why they are not run."""

    page: str
    begins: str
    why: str


SHARED: Final = "tests/readers/test_delta_sharing.py reads a run by the client, in an environment of its own"
PROFILE: Final = "tests/sharing/test_profile.py issues a key with a profile"
WIDGETS: Final = "tests/interface_tools/test_widgets.py puts nginx with both blocks in front of a server"
SPARK: Final = "Spark's package for the protocol comes from Maven, which the tests do not reach"


LEFT_OUT: Final = (
    LeftOut("CONTRIBUTING.md", "pip install uv", "the set-up of a checkout, with which .ci/run begins"),
    LeftOut("CONTRIBUTING.md", "pipeline/rules: ", NOT_RUNNABLE),
    LeftOut("CONTRIBUTING.md", "--- ", PATCHES),
    LeftOut("README.md", "pip install uv", DEMO),
    LeftOut("docs/agents.md", "ALPHA_RESULTS_AGENTS=on", "runs until stopped; tests/agents/ starts it"),
    LeftOut("docs/agents.md", '{"mcpServers"', NOT_RUNNABLE),
    LeftOut("docs/delta-sharing.md", "alpha-results serve keys issue", PROFILE),
    LeftOut("docs/delta-sharing.md", "import delta_sharing", SHARED),
    LeftOut("docs/delta-sharing.md", "scores = spark", SPARK),
    LeftOut("docs/delta-sharing.md", "map $http_origin", WIDGETS),
    LeftOut("docs/delta-sharing.md", "add_header Vary", WIDGETS),
    LeftOut("docs/events.md", "alpha-results notify", "tests/events/ sends them to a receiver of its own"),
    LeftOut("docs/events.md", "{", NOT_RUNNABLE),
    LeftOut(
        "docs/frozen-catalogue.md", "portfolio = spark", "tests/readers/test_spark.py does it with Spark"
    ),
    LeftOut("docs/frozen-catalogue.md", "", "tests/export/ writes a catalogue and reads it"),
    LeftOut("docs/installing.md", "pip install uv", DEMO),
    LeftOut("docs/installing.md", "pip install /path/to/the/checkout", INSTALLED),
    LeftOut("docs/installing.md", "alpha-results simulate", INSTALLED),
    LeftOut("clients/datasets/README.md", "", DATASETS),
    LeftOut("clients/python/README.md", "pip install", "tests/client/test_wheel.py installs the wheel"),
    LeftOut("clients/seal-writer/README.md", "$ pip install", "tests/importers/conftest.py installs it"),
    LeftOut(
        "docs/batches.md",
        "from alpha_results.pipeline import",
        "names a bucket; tests/batch/test_build_many.py runs builds so on folders",
    ),
    LeftOut("docs/batches.md", '{"at":', NOT_RUNNABLE),
    LeftOut(
        "docs/explorer.md",
        "alpha-results serve run",
        "runs until stopped; tests/browser/ starts it",
    ),
    LeftOut(
        "docs/benchmarks.md",
        "apt-get install wrk",
        "twenty minutes with nothing else running; tests/benchmarks/test_comparison.py reads what they write",
    ),
    LeftOut("docs/operations.md", "$ alpha-results build --datasets s3://", BUCKET),
    LeftOut("docs/operations.md", "import alpha_results_datasets", BUCKET),
    LeftOut(
        "docs/operations.md",
        "$ uv run --extra cluster",
        "tests/cluster/test_cluster.py builds on a real scheduler with its workers",
    ),
    LeftOut(
        "docs/operations.md",
        "$ alpha-results rollback",
        "needs a snapshot before the one served; tests/housekeeping/test_rollback.py goes back to one",
    ),
    LeftOut("docs/operations.md", "apt-get install --no-install-recommends python3-venv", DEPLOYED),
    LeftOut("docs/operations.md", "install -d -o alpha-results", DEPLOYED),
    LeftOut("docs/operations.md", "systemctl stop alpha-results-gc.timer", RESTORED),
    LeftOut("docs/operations.md", "systemctl stop alpha-results-pipeline", RESTORED),
    LeftOut("docs/operations.md", "systemctl stop alpha-results-serve\nrm", RESTORED),
    LeftOut("docs/operations.md", "pg_dump", RESTORED),
    LeftOut("docs/operations.md", "psql", RESTORED),
    LeftOut("docs/operations.md", "cd /opt/alpha-results-new", UPGRADED),
    LeftOut("docs/operations.md", "systemctl stop alpha-results-serve\nln", UPGRADED),
    LeftOut("docs/operations.md", "systemctl restart alpha-results-pipeline", UPGRADED),
    LeftOut("docs/operations.md", "cd /opt/alpha-results", DEPLOYED),
    LeftOut("docs/operations.md", "cp deploy/systemd/", DEPLOYED),
    LeftOut("docs/operations.md", "install -d /etc/ssl/alpha-results", DEPLOYED),
    LeftOut("docs/operations.md", "set -a; . /etc/alpha-results/serve.env", DEPLOYED),
    LeftOut(
        "docs/notebooks.md",
        "uv run --group notebooks marimo",
        "an editor that ends when it is closed; tests/notebooks/ runs the notebooks",
    ),
    LeftOut("docs/reading-the-files.md", "catalog/<alpha_id>.json", NOT_RUNNABLE),
    LeftOut(
        "docs/table-downloads.md",
        "import os\n\nimport duckdb",
        "tests/documents/test_duckdb_links.py runs it with the version of DuckDB that has the extension",
    ),
    LeftOut("docs/other-engines.md", "SealWriter", ENGINES),
    LeftOut("docs/other-engines.md", "from alpha_results_seal.vectorbt", ENGINES),
    LeftOut("docs/other-engines.md", "ledger = ledger_from_vectorbt", ENGINES),
    LeftOut("docs/other-engines.md", "from alpha_results_seal.pyfolio import ledger_from_pyfolio", ENGINES),
    LeftOut("docs/other-engines.md", "from alpha_results_seal.pyfolio import ledger_from_zipline", ENGINES),
    LeftOut(
        "docs/other-engines.md",
        "from alpha_results_seal.lean",
        "tests/seal_writer/test_lean.py has files of that form",
    ),
    LeftOut("docs/other-engines.md", "import pandas", ENGINES),
    LeftOut("docs/other-engines.md", "def worth", ENGINES),
    LeftOut("docs/other-engines.md", "from alpha_results_seal import Calendar", ENGINES),
    LeftOut("docs/writing-a-seal.md", "{", NOT_RUNNABLE),
)


def reason(block: Block) -> LeftOut | None:
    """Return why a block is not run; None if it is run."""
    for entry in LEFT_OUT:
        if block.page == entry.page and block.text.startswith(entry.begins):
            return entry
    return None
