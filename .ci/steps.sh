# Sourced by `.ci/run` and `.ci/nightly`: set-up, then one recipe after another. The first failure ends the run, and is not retried: a
# flaky test is a fault in the test or the product.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The same examples of property tests in every run.
export TEST_EXAMPLES=same

begin() {
  echo "=== $1 ($((SECONDS / 60)) min $((SECONDS % 60)) s)"
}

# A recipe fails after 20 minutes.
recipe() {
  begin "just $*"
  timeout --kill-after=30 1200 uv run just "$@"
}

# Install Debian packages, as root. Without root, tests use the embedded servers from PyPI, and those that need another program are
# skipped with a reason.
packages() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o Acquire::Retries=3 update -qq
    apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" >/dev/null
  fi
}

begin "set-up"
python3 -m pip install --quiet uv
