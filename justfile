# `uv run just` makes the locked environment with what `demo` needs. A recipe that needs more names its group, which uv then adds.

export PATH := justfile_directory() / ".venv" / "bin" + ":" + env("PATH")
# Empty is unset. Where it is set, each process that a test starts compiles every library again: 2.3 s instead of 0.9 to load the server.
export PYTHONDONTWRITEBYTECODE := ""

# list the recipes
default:
    @just --list

# a simulated market, three alphas, two keys and a running server: Ctrl-C stops it
[no-exit-message]
demo *args:
    @python -m serve demo {{ args }}

# folders of tests with a recipe of their own; `test` leaves them out, and .ci/run or .ci/nightly runs every one
apart := "access batch batch_kills browser client cluster compatibility contributing crowds damage deploy documents faults fuzz importers install interface_tools kills mutated_seals notebooks orchestrators programs readers real_runs s3 soak state_machines storage wire"
tested := "uv run --all-extras --group test"
checked := "uv run --group lint"
in_parallel := tested + " pytest -q -n auto --dist loadfile --no-loadscope-reorder -p no:schemathesis"

# the test-suite in a few minutes, or the files given; without what has a recipe of its own
test *args:
    {{ in_parallel }} {{ if args == "" { prepend("--ignore=tests/", apart) } else { args } }}

# the server and the batch commands as processes: their start and end, signals, workers, figures for operators
programs:
    {{ in_parallel }} tests/programs tests/batch

# keys, limits and their stores, on real PostgreSQL and Redis
access:
    {{ in_parallel }} tests/access

# raw bytes on sockets
wire:
    {{ in_parallel }} tests/wire

# manifests, units and a first deployment, carried out as printed
deploy:
    {{ in_parallel }} tests/deploy

# the Python client against a running server
client:
    {{ in_parallel }} tests/client

# what others check the interface with and make clients from; two of them need Node
interface-tools:
    {{ tested }} pytest -q -p no:schemathesis tests/interface_tools

# object storage, on a real S3 gateway
s3:
    {{ in_parallel }} tests/s3 tests/storage

# batches on a real Dask cluster
cluster:
    {{ in_parallel }} tests/cluster

# this version of the libraries and others at work on one root
compatibility:
    {{ in_parallel }} tests/compatibility

# many callers at once, callers that walk or are deaf, few file descriptors
crowds:
    {{ in_parallel }} tests/crowds

# published files with flipped bits, seals no engine should write, disks that are full or fail
damage:
    {{ in_parallel }} tests/damage

# a real run, served and compared with what other libraries compute from its sealed files; where it lies beside the checkout
real-runs:
    {{ in_parallel }} tests/real_runs

# every block of code of README and docs, run beside one demo; and the site that is made of them, looked at in pieces
documents:
    {{ replace(in_parallel, "--group test", "--group test --group docs") }} tests/documents

# the blocks of the README, of the start page and of the two pages a newcomer reads next, as printed, beside a demo
demo-as-printed:
    {{ tested }} pytest -q -p no:schemathesis tests/documents/test_blocks.py -k "README or index or installing or own-results"

# the documents as a site in site/, which ends with an error for a link that leads nowhere
site:
    uv run --group docs python docs/site/build.py

# the wheel, installed and used; and the examples of CONTRIBUTING applied to a copy
install:
    {{ in_parallel }} tests/install tests/contributing

# compressed pages as Go, Java, Chromium and Firefox read them, those of them that are installed
readers:
    {{ tested }} pytest -q -p no:schemathesis tests/readers

# the explorer in headless Chromium, where that is installed
browser *args:
    uv run --all-extras --group browser pytest -q -p no:schemathesis tests/browser {{ args }}

# results of other libraries as seals: vectorbt, bt, backtrader and zipline, each in an environment of its own
importers:
    {{ in_parallel }} tests/importers

# the notebooks, run as scripts
notebooks:
    {{ tested }} --group notebooks pytest -q -p no:schemathesis tests/notebooks
# the examples for Airflow, Dagster and cron: the first two in environments of their own
orchestrators:
    {{ in_parallel }} tests/orchestrators

# the image's steps in a clean root file system, as root: what they make publishes and serves there
image:
    TEST_IMAGE=required {{ tested }} pytest -q -p no:schemathesis tests/deploy/test_image.py

# many seals through batches that are killed, ended, cut off from their cluster and from their store
kills-batch count="1000":
    ALPHA_RESULTS_TEST_SEALS={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/batch_kills

# kill builds, publications, collections, cache fills and PostgreSQL at random moments; end servers in the midst of their work
kills count="200":
    ALPHA_RESULTS_TEST_KILLS={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/kills

# seals mutated in every way, each built in little memory and judged; `just mutated-seals 2` for two of a hundred, always the same
mutated-seals share="all":
    ALPHA_RESULTS_TEST_MUTATIONS={{ share }} {{ tested }} pytest -q -s -p no:schemathesis tests/mutated_seals

# PostgreSQL, Redis, the market data, the root, the object store, disks and a worker: each taken away, hung, slowed or filled under load
faults:
    {{ tested }} pytest -q -s -p no:schemathesis tests/faults

# ten minutes of checked traffic over two workers, PostgreSQL and Redis, with publications, collections, revocations and kills beneath
soak seconds="600":
    ALPHA_RESULTS_TEST_SOAK={{ seconds }} {{ tested }} pytest -q -s -p no:schemathesis tests/soak

# random histories of several alphas, builders and keys, each answer compared with a model's; it prints the seed that repeats them
state-machines count="200":
    ALPHA_RESULTS_TEST_STATE_MACHINES={{ count }} {{ tested }} pytest -q -s -p no:schemathesis tests/state_machines

# 200 made-up requests for each endpoint against a running server; `just fuzz 8` makes few, and always the same ones
fuzz cases="200":
    FUZZ_CASES={{ cases }} {{ tested }} pytest -q tests/fuzz

# how many of our files a request touches, and how often it moves between them; `just trace --calls` prints every call
trace *args:
    {{ tested }} python -m tests.support.trace {{ args }}

# lines of code, files, circles and the longest chain of imports of each package; `just size --chains` names circles and chains
size *args:
    {{ checked }} python -m tests.support.size {{ args }}

# formatting, lint and markers of unfinished merges; what engines and notebooks install runs on Python 3.9
lint: conflicts
    {{ checked }} ruff format --check .
    {{ checked }} ruff check .
    {{ checked }} vermin --quiet --no-tips --violations --target=3.9- clients/python/src clients/seal-writer/src

# markers of a merge that was not finished, in any file under version control; underlined headings are none
conflicts:
    ! git grep -nIE '^(<{7}|>{7}|[|]{7})( |$)'

# strict types
types:
    uv run --all-extras --group types mypy

# which package may import which
imports:
    {{ checked }} lint-imports

# dependencies that are used and not declared, or declared and not used
deps:
    uv run --all-extras --group lint deptry .

# spelling
spelling:
    {{ checked }} codespell

# keys and passwords in any file under version control; what was looked at and is none is in .secrets.baseline
secrets:
    #!/usr/bin/env bash
    set -uo pipefail
    mapfile -d '' files < <(git ls-files -z)
    baseline=$(mktemp)
    trap 'rm -f "$baseline" "$baseline.log"' EXIT
    cp .secrets.baseline "$baseline"
    {{ checked }} detect-secrets-hook --baseline "$baseline" "${files[@]}" > "$baseline.log"
    found=$?
    # 3: the same as before on other lines
    if [ "$found" != 0 ] && [ "$found" != 3 ]; then cat "$baseline.log"; exit 1; fi

# known weaknesses of what uv.lock names; asks api.osv.dev
audit:
    uv audit --frozen

# what is checked before a commit; `bash .ci/run` is what decides
check: lint types imports deps spelling secrets test

# write the documents that are derived from the declarations, each whole or not at all
docs:
    #!/usr/bin/env bash
    set -euo pipefail
    written() { # the file, and the command that prints it
      "${@:2}" > "$1.unfinished" || { rm -f "$1.unfinished"; exit 1; }
      mv "$1.unfinished" "$1"
    }
    written docs/rules.md python -m pipeline rules --markdown
    written docs/seal/seal.schema.json python -m pipeline rules --manifest-schema
    python -m pipeline rules --into docs/seal/specification.md
    written docs/notices.md python -m schemas notices
    written docs/data-dictionary.md python -m schemas dictionary
    written docs/openapi.json python -m schemas openapi
    python -m schemas settings --into docs/operations.md
    python -m schemas exit-codes --into docs/batches.md
    python -m schemas definitions --into docs/metrics.md
    for module in declared.py methods.pyi; do
      written clients/python/src/alpha_results_client/$module python -m schemas client $module
    done
    written clients/seal-writer/src/alpha_results_seal/columns.py python -m schemas seal-columns
    {{ checked }} ruff format --quiet clients

# the service beside what a user would pick instead, all fed the same; `just bench --quick` for a short look.
# Needs wrk and, better than the packaged one, PostgreSQL: `apt-get install wrk postgresql`
bench *args:
    env -u VIRTUAL_ENV UV_PROJECT_ENVIRONMENT=.bench/environment uv run --all-extras --group bench python -m benchmarks.compare {{ args }}

# the heaviest metrics request, cold and warm, over the seal given
bench-metrics seal *args:
    PYTHONPATH=. {{ tested }} python benchmarks/metrics.py {{ seal }} {{ args }}

# light calls of one key alone, and beside another key that asks for more than the cores can do
bench-overload seal *args:
    {{ tested }} python -m benchmarks.overload {{ seal }} {{ args }}

# what recognising a key and counting a call costs
bench-access *args:
    PYTHONPATH=. {{ tested }} python benchmarks/access.py {{ args }}

# build the seal given beside a bare copy of its files: ratio, stages, peak memory; and weekly figures beside alphalens
bench-build seal *args:
    {{ tested }} python benchmarks/build.py {{ seal }} {{ args }}

# many small runs built side by side: rate, and the memory of the batch's own process
bench-batch *args:
    PYTHONPATH=. {{ tested }} python benchmarks/batch.py {{ args }}

# runs of any size: memory and time of their builds; --decisions once for each size
bench-large *args:
    PYTHONPATH=. {{ tested }} python benchmarks/large_run.py {{ args }}

# a catalogue of 10,000 alphas: start-up, polls and searches; --s3 for polls of a bucket and their requests instead
bench-catalogue *args:
    PYTHONPATH=. {{ tested }} python benchmarks/catalogue.py {{ args }}


# 10,000 simulated alphas, 500 of them real: how many discoveries are false
bench-false-discoveries *args:
    PYTHONPATH=. {{ tested }} python benchmarks/false_discoveries.py {{ args }}

# the nearest of 10,000 alphas over any window: over HTTP, beside plain NumPy
bench-neighbours *args:
    PYTHONPATH=. {{ tested }} python benchmarks/neighbours.py {{ args }}

# a whole table of the seal given as a frame, from an empty process: our client by link and by pages, and Arrow Flight
bench-tables seal *args:
    {{ tested }} python -m benchmarks.whole_tables {{ seal }} {{ args }}
