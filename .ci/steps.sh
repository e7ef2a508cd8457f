# What `.ci/run` and `.ci/nightly` share: a scratch folder, steps with their time, an installed checkout.
# Sourced by both, from the top of the checkout. Needs Python 3.11 or newer and a package index.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CORRIGIBLE_CACHE=$scratch/cache # cold: a lock that does not install any more must fail here
bin=$PWD/.venv/bin
step() { printf '\n== %s (after %s s)\n' "$*" "$SECONDS"; }

# Start a command beside others; `finish NAME` waits for it, and shows what it printed where it failed.
begin() {
  local name=$1
  shift
  "$@" >"$scratch/$name.txt" 2>&1 &
  echo "$!" >"$scratch/$name.pid"
}
finish() {
  wait "$(cat "$scratch/$1.pid")" && return
  tail -n 60 "$scratch/$1.txt"
  exit 1
}

# Make an environment, with a pip that knows dependency groups.
environment() {
  "$1" -m venv "$scratch/$2"
  "$scratch/$2/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
}

# Build the wheel and the sdist, the wheel from the sdist.
build() { "$bin/python" -m build --outdir "$scratch/dist" .; }

# Install the checkout with all that it needs, once.
prepare() {
  step install
  make --no-print-directory .venv/.ready
}

# Name what is not there for tests that need more than Python. Tests on a real kube-apiserver get one where it is provided.
announce() {
  local provided=../shared/kubernetes/assets.sh
  if [ -z "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$provided" ]; then
    KUBEBUILDER_ASSETS=$(PATH=$bin:$PATH "$provided" "$scratch/assets")
    export KUBEBUILDER_ASSETS
  fi
  [ -n "${KUBEBUILDER_ASSETS:-}" ] || echo "no KUBEBUILDER_ASSETS: the tests on a real kube-apiserver are skipped"
  command -v chromium chromium-browser google-chrome >/dev/null || echo "no Chromium: the test of a page by keyboard is skipped"
  command -v kubectl >/dev/null || echo "no kubectl: the tests that call it are skipped"
}
