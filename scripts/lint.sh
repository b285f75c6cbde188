#!/bin/sh
# All that `make lint` checks. Goes on after a complaint, so that one run shows all of them.
PATH="$PWD/.venv/bin:$PATH"
failed=""

check() {
    echo "+ $*"
    "$@" || failed="$failed
    $*"
}

# mypy is given the rooms that exist.
rooms=python
for room in tests benches fuzz examples; do
    [ -z "$(find $room -name '*.py' 2>/dev/null)" ] || rooms="$rooms $room"
done

check ruff check .
check ruff format --check .
check mypy $rooms
check pyright
check lint-imports
check python -m mypy.stubtest kwire._kwire
check cargo fmt --all --check
check cargo clippy --workspace --all-targets --quiet -- -D warnings

[ -z "$failed" ] || { echo "not clean:$failed" >&2; exit 1; }
