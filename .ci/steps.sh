# Sourced by `.ci/run` and `.ci/nightly`: set-up, and one recipe after another. Nothing is run a second time to pass: a recipe that
# fails ends the run, and is a fault in the test or the product.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Properties are tried on the same examples in each run.
export TEST_EXAMPLES=same

begin() {
  echo "=== $1 ($((SECONDS / 60)) min $((SECONDS % 60)) s)"
}

# A recipe that hangs has failed after 20 minutes.
recipe() {
  begin "just $*"
  timeout --kill-after=30 1200 uv run just "$@"
}

# Debian's packages, as root. Without root the embedded servers from PyPI are used, and the tests that need another program say that
# they were skipped.
packages() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o Acquire::Retries=3 update -qq
    apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" >/dev/null
  fi
}

begin "set-up"
python3 -m pip install --quiet uv
