#!/bin/sh
# Type-check every folder that has Python code.
PATH="$PWD/.venv/bin:$PATH"
exec mypy python tests benches fuzz examples scripts conftest.py kwire-*/src kwire-*/tests
