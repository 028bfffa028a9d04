"""Types that openapi-typescript makes from the document have every column, and call the service."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.interface_tools.conftest import DOCUMENT, Service, node, row_schemas
from tests.support.contract_app import FULL

CALLS = """
import createClient from "openapi-fetch";
import type { paths } from "./schema";

const [address, alpha] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: address!, headers: { Authorization: `Bearer ${process.env.KEY}` } });
const core = await client.GET("/v1/alphas/{alpha}/scores", { params: { path: { alpha: alpha! }, query: { limit: 3 } } });
const all = await client.GET("/v1/alphas/{alpha}/scores", {
  params: { path: { alpha: alpha! }, query: { limit: 3, fields: "all" } },
});
const listed = await client.GET("/v1/alphas", { params: { query: { complete_only: true } } });
const wrong = await client.GET("/v1/alphas/{alpha}/trades", {
  params: { path: { alpha: alpha! }, query: { book: "nothing" } },
});
const row = all.data!.data[0]!;
const cohort = "cohort_size" in row ? row.cohort_size : undefined;
const code = wrong.error!.error.code;
console.log(JSON.stringify([Object.keys(core.data!.data[0]!), cohort, listed.data!.pagination.total, code]));
"""


@pytest.fixture(scope="module")
def made(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(tools / "node_modules")
    done = node(tools, "openapi-typescript", str(DOCUMENT), "--output", "schema.d.ts", folder=folder)
    assert done.returncode == 0, (done.stdout, done.stderr)
    options = {
        "strict": True, "noUncheckedIndexedAccess": True, "target": "es2022", "module": "es2022", "types": [],
        "moduleResolution": "bundler", "lib": ["es2022", "dom"], "skipLibCheck": True,
    }  # fmt: skip
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    (folder / "package.json").write_text(json.dumps({"type": "module"}))
    (folder / "process.d.ts").write_text(
        "declare const process: { argv: string[]; env: Record<string, string> };\n"
    )
    return folder


def test_the_generated_types_have_every_column(tools: Path, made: Path) -> None:
    lines = ['import type { components } from "./schema";', 'type Rows = components["schemas"];',
             "type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;"]  # fmt: skip
    rows = row_schemas()
    assert len(rows) >= 10
    for number, (name, columns) in enumerate(rows.items()):
        union = " | ".join(json.dumps(column) for column in columns)
        lines.append(f"export const same{number}: Same<keyof Rows[{json.dumps(name)}], {union}> = true;")
    (made / "columns.ts").write_text("\n".join(lines))
    done = node(tools, "tsc", "--noEmit", "-p", ".", folder=made)
    assert done.returncode == 0, done.stdout


def test_the_typed_client_calls_the_service(tools: Path, made: Path, service: Service) -> None:
    (made / "calls.ts").write_text(CALLS)
    compiled = node(tools, "tsc", "-p", ".", "--outDir", "out", folder=made)
    assert compiled.returncode == 0, compiled.stdout
    done = subprocess.run(
        ["node", "out/calls.js", service.address, FULL],
        cwd=made, env={"PATH": "/usr/bin:/usr/local/bin:/bin", "KEY": service.key}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    columns, cohort, total, code = json.loads(done.stdout)
    assert columns == [name for name in row_schemas()["ScoreRow"] if not name.startswith("raw_")]
    assert isinstance(cohort, int)
    assert total > 0
    assert code == "unknown_book"
