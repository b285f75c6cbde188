#!/bin/sh
# All that `make lint` checks. Stops at the first complaint.
set -eu
PATH="$PWD/.venv/bin:$PATH"

# mypy is given the rooms that exist.
rooms=python
for room in tests benches fuzz examples; do
    [ -z "$(find $room -name '*.py' 2>/dev/null)" ] || rooms="$rooms $room"
done

set -x
ruff check .
ruff format --check .
mypy $rooms
pyright
lint-imports
python -m mypy.stubtest kwire._kwire
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings
