#!/bin/sh
# What `make setup` needs from the machine, and with the argument `java` what Spark and ZooKeeper need. Names all that
# is missing, not only the first.

PYTHON=${PYTHON:-python3}
oldest_rust=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' Cargo.toml)
missing=0

lacks() {
    echo "missing: $1" >&2
    missing=1
}

if ! command -v "$PYTHON" >/dev/null; then
    lacks "Python 3.11 or newer (there is no '$PYTHON'; name another with: make PYTHON=python3.12)"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    lacks "Python 3.11 or newer ('$PYTHON' is $("$PYTHON" -V 2>&1); name another with: make PYTHON=python3.12)"
elif ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
    lacks "Python's venv module (on Debian and Ubuntu: apt install python3-venv)"
fi

if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    lacks "a Rust toolchain, 1.$oldest_rust or newer (https://rustup.rs)"
else
    rust=$(rustc --version | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
    [ "${rust:-0}" -ge "$oldest_rust" ] || lacks "Rust 1.$oldest_rust or newer ($(rustc --version); try: rustup update)"
fi

command -v cc >/dev/null || lacks "a C linker, which Rust uses (on Debian and Ubuntu: apt install gcc)"

if [ "${1:-}" = java ]; then
    if ! command -v java >/dev/null; then
        lacks "Java 17 or newer, for Spark and ZooKeeper (on Debian and Ubuntu: apt install openjdk-17-jre-headless)"
    else
        java=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
        [ "${java:-0}" -ge 17 ] || lacks "Java 17 or newer, for Spark and ZooKeeper (java is version ${java:-unknown})"
    fi
fi

exit $missing
