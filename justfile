# `uv run just` creates the locked environment for `demo`. A recipe that needs more names its group, which uv then adds.

export PATH := justfile_directory() / ".venv" / "bin" + ":" + env("PATH")
# Unset: otherwise every process that a test starts compiles all libraries again, and loading the server takes 2.3 s instead of 0.9.
export PYTHONDONTWRITEBYTECODE := ""

# list the recipes
default:
    @just --list

# a simulated market, three alphas, two keys and a running server: Ctrl-C stops it
[no-exit-message]
demo *args:
    @python -m serve demo {{ args }}

# test folders with a recipe of their own, which .ci/run or .ci/nightly runs; `test` skips them
apart := "access batch batch_kills browser client cluster compatibility contributing crowds damage deploy documents faults fuzz importers install interface_tools kills mutated_seals notebooks orchestrators programs readers real_runs s3 soak state_machines storage wire"
tested := "uv run --all-extras --group test"
checked := "uv run --group lint"
in_parallel := tested + " pytest -q -n auto --dist loadfile --no-loadscope-reorder -p no:schemathesis"

# the test suite in a few minutes, or the given files; without the folders that have their own recipe
test *args:
    {{ in_parallel }} {{ if args == "" { prepend("--ignore=tests/", apart) } else { args } }}

# the server and the batch commands as processes: start and end, signals, workers, metrics
programs:
    {{ in_parallel }} tests/programs tests/batch

# keys, limits and their stores, on real PostgreSQL and Redis
access:
    {{ in_parallel }} tests/access

# raw bytes on sockets
wire:
    {{ in_parallel }} tests/wire

# manifests, units and a first deployment, run as printed
deploy:
    {{ in_parallel }} tests/deploy

# the Python client against a running server
client:
    {{ in_parallel }} tests/client

# third-party tools that check the OpenAPI document and generate clients; three of them need Node 22 or later
interface-tools:
    {{ tested }} pytest -q -p no:schemathesis tests/interface_tools

# object storage, on a real S3 gateway
s3:
    {{ in_parallel }} tests/s3 tests/storage

# batches on a real Dask cluster
cluster:
    {{ in_parallel }} tests/cluster

# the locked and older library versions on the same root
compatibility:
    {{ in_parallel }} tests/compatibility

# many callers at once, slow and silent ones, few file descriptors
crowds:
    {{ in_parallel }} tests/crowds

# published files with flipped bits, invalid seals, full and failing disks
damage:
    {{ in_parallel }} tests/damage

# real runs: rules, notices, and served figures compared with other libraries; skipped if they are not beside the checkout
real-runs:
    {{ in_parallel }} tests/real_runs

# every code block of README and docs, run beside one demo; and the site made from them
documents:
    {{ replace(in_parallel, "--group test", "--group test --group docs") }} tests/documents

# the blocks of the README, the start page and "your own results", as printed, beside a demo
demo-as-printed:
    {{ tested }} pytest -q -p no:schemathesis tests/documents/test_blocks.py -k "README or index or own-results"

# the documents as a site in site/; a dead link is an error
site:
    uv run --group docs python docs/site/build.py

# the wheel, installed and used; the examples of CONTRIBUTING, applied to a copy
install:
    {{ in_parallel }} tests/install tests/contributing

# compressed pages read by Go, Java, Chromium and Firefox, where installed
readers:
    {{ tested }} pytest -q -p no:schemathesis tests/readers

# the explorer in headless Chromium, where that is installed
browser *args:
    uv run --all-extras --group browser pytest -q -p no:schemathesis tests/browser {{ args }}

# seals from results of other backtest libraries, each in an environment of its own
importers:
    {{ in_parallel }} tests/importers

# the notebooks, run as scripts
notebooks:
    {{ tested }} --group notebooks pytest -q -p no:schemathesis tests/notebooks

# the examples for Airflow, Dagster and cron
orchestrators:
    {{ in_parallel }} tests/orchestrators

# the image's steps in a clean root file system, as root
image:
    TEST_IMAGE=required {{ tested }} pytest -q -p no:schemathesis tests/deploy/test_image.py

# many seals through batches that are killed or terminated, or lose their cluster or store
kills-batch count="1000":
    ALPHA_RESULTS_TEST_SEALS={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/batch_kills

# kill builds, publications, collections, downloads and PostgreSQL at random moments; terminate busy servers
kills count="200":
    ALPHA_RESULTS_TEST_KILLS={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/kills

# mutated seals, each refused by a rule or published correctly; `just mutated-seals 2` for a fixed two of a hundred
mutated-seals share="all":
    ALPHA_RESULTS_TEST_MUTATIONS={{ share }} {{ tested }} pytest -q -s -p no:schemathesis tests/mutated_seals

# PostgreSQL, Redis, market data, root, object store, disks and workers: each killed, hung, slowed or filled under load
faults:
    {{ tested }} pytest -q -s -p no:schemathesis tests/faults

# ten minutes of checked traffic over two workers, PostgreSQL and Redis, during publications, collections, revocations and kills
soak seconds="600":
    ALPHA_RESULTS_TEST_SOAK={{ seconds }} {{ tested }} pytest -q -s -p no:schemathesis tests/soak

# random histories of alphas, builders and keys, compared with a model; prints the seed for a repetition
state-machines count="200":
    ALPHA_RESULTS_TEST_STATE_MACHINES={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/state_machines

# 200 generated requests for each endpoint of a running server; `just fuzz 16` for few, always the same
fuzz cases="200":
    FUZZ_CASES={{ cases }} {{ tested }} pytest -q tests/fuzz

# source files that a request passes through, and moves between them; `just trace --calls` prints every call
trace *args:
    {{ tested }} python -m tests.support.trace {{ args }}

# lines of code, files, import cycles and the longest import chain of each package; `just size --chains` names cycles and chains
size *args:
    {{ checked }} python -m tests.support.size {{ args }}

# formatting, lint and merge conflict markers; the client and the seal writer must run on Python 3.9
lint: conflicts
    {{ checked }} ruff format --check .
    {{ checked }} ruff check .
    {{ checked }} vermin --quiet --no-tips --violations --target=3.9- clients/python/src clients/seal-writer/src

# merge conflict markers in any tracked file
conflicts:
    ! git grep -nIE '^(<{7}|>{7}|[|]{7})( |$)'

# strict types
types:
    uv run --all-extras --group types mypy

# which package may import which
imports:
    {{ checked }} lint-imports

# dependencies that are used but not declared, or declared but not used
deps:
    uv run --all-extras --group lint deptry .

# spelling
spelling:
    {{ checked }} codespell

# keys and passwords in any tracked file; reviewed false alarms are in .secrets.baseline
secrets:
    #!/usr/bin/env bash
    set -uo pipefail
    mapfile -d '' files < <(git ls-files -z)
    baseline=$(mktemp)
    trap 'rm -f "$baseline" "$baseline.log"' EXIT
    cp .secrets.baseline "$baseline"
    {{ checked }} detect-secrets-hook --baseline "$baseline" "${files[@]}" > "$baseline.log"
    code=$?
    # 3: known findings on other lines
    if [ "$code" != 0 ] && [ "$code" != 3 ]; then cat "$baseline.log"; exit 1; fi

# known vulnerabilities of the packages in uv.lock; queries api.osv.dev
audit:
    uv audit --frozen

# checks before a commit; `bash .ci/run` is authoritative
check: lint types imports deps spelling secrets test

# write the files that derive from the declarations, each atomically
docs:
    #!/usr/bin/env bash
    set -euo pipefail
    written() { # file, then the command that prints it
      "${@:2}" > "$1.unfinished" || { rm -f "$1.unfinished"; exit 1; }
      mv "$1.unfinished" "$1"
    }
    written docs/seal/seal.schema.json python -m pipeline rules --manifest-schema
    written docs/openapi.json python -m schemas openapi
    python -m schemas parts docs/{data-dictionary,notices,settings,batches,metrics}.md
    python -m pipeline.rules.document docs/rules.md docs/seal/specification.md
    for file in declared.json methods.pyi; do
      written clients/python/src/alpha_results_client/$file python -m schemas $file
    done
    written clients/seal-writer/src/alpha_results_seal/columns.json python -m schemas columns.json

# Needs wrk; Debian's PostgreSQL is better than the packaged one: `apt-get install wrk postgresql`.
# the service beside the alternatives, on the same data; `just bench --quick` for a short run
bench *args:
    env -u VIRTUAL_ENV UV_PROJECT_ENVIRONMENT=.bench/environment uv run --all-extras --group bench python -m benchmarks.compare {{ args }}

# light calls of one key, alone and beside a heavy key
bench-overload seal *args:
    {{ tested }} python -m benchmarks.overload {{ seal }} {{ args }}

# many small runs in one batch, new and already served
bench-batch *args:
    {{ tested }} python -m benchmarks.batch {{ args }}

# builds of runs of any size: memory and time; repeat --decisions for several sizes
bench-large *args:
    {{ tested }} python -m benchmarks.large_run {{ args }}

# a catalogue of 10,000 alphas: start-up, polls and searches; with --s3 polls of a bucket
bench-catalogue *args:
    {{ tested }} python -m benchmarks.catalogue {{ args }}

# share of false discoveries among 10,000 simulated alphas, 500 of them real
bench-false-discoveries *args:
    {{ tested }} python -m benchmarks.false_discoveries {{ args }}

# nearest neighbours among 10,000 alphas over HTTP, beside plain NumPy
bench-neighbours *args:
    {{ tested }} python -m benchmarks.neighbours {{ args }}

# a table of the given seal as a frame, in a fresh process: our client by link and by pages, and Arrow Flight
bench-tables seal *args:
    {{ tested }} python -m benchmarks.table_downloads {{ seal }} {{ args }}
