#!/bin/sh
# usage: check_changelog.sh BASE: fail if the package or the engine changed since BASE, and CHANGELOG.md did not.
set -eu
changed=$(git diff --name-only "$1...HEAD")
if echo "$changed" | grep -qE '^(python|rust)/' && ! echo "$changed" | grep -qx CHANGELOG.md; then
    echo "python/ or rust/ changed, and CHANGELOG.md did not: describe the change, or label it 'no changelog'" >&2
    exit 1
fi
