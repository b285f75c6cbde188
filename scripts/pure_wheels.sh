#!/bin/sh
# Builds the wheels that need no Rust: kwire without the engine, and the other products.
#
#     scripts/pure_wheels.sh PYTHON FOLDER        PYTHON has hatchling
set -e
mkdir -p "$2"
folder=$(cd "$2" && pwd)
case $1 in */*) python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") ;; *) python=$1 ;; esac
"$python" -m hatchling build --target wheel --directory "$folder"
for product in kwire-*/; do
    (cd "$product" && "$python" -m hatchling build --target wheel --directory "$folder")
done
