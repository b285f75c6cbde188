#!/bin/sh
# The tests of the pure crate under Miri, which sees undefined behaviour even where it happens to work. The crate forbids
# unsafe code; this shows that what it leans on is used as it must be. Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

if ! command -v rustup >/dev/null || ! rustup toolchain list | grep -q nightly; then
    echo "missing: a nightly Rust (rustup toolchain install nightly --profile minimal)" >&2
    exit 1
fi
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "missing: Miri (rustup component add miri rust-src --toolchain nightly)" >&2
    exit 1
fi
if [ ! -e target/kwire-cases/plans.txt ]; then
    echo "missing: target/kwire-cases (make test writes it, or in .venv: python -m tests.write_rust_cases)" >&2
    exit 1
fi

# The tests read plans and documents from files, which Miri otherwise keeps from them.
MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}" cargo +nightly miri test -p kwire --target-dir target/miri "$@"
