#!/bin/sh
# Everything that `make lint` checks. A failed check does not stop the others, so that one run shows all findings.
PATH="$PWD/.venv/bin:$PATH"
failed=""

check() {
    echo "+ $*"
    "$@" || failed="$failed
    $*"
}

check ruff check .
check ruff format --check .
check scripts/mypy.sh
check pyright
check python -m pytest -q tests/lint
for product in . kwire-*/; do check lint-imports --config "$product/pyproject.toml"; done
check python -m mypy.stubtest kwire._kwire
check cargo fmt --all --check
check cargo clippy --workspace --all-targets --quiet -- -D warnings

[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
