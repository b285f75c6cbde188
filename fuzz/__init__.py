"""Coverage-guided fuzzing. Run it with `make fuzz SECONDS=60` or `python -m fuzz.run`.

Each of the three targets checks one property:

- `plan_and_bytes` (Rust): for any plan and any bytes, parsing, decoding, and validation return a value or an error, and
  a value is equal after a round trip.
- `known_plans` (Rust): the same for the plans of all declared messages.
- `differential` (Python): for any bytes, the engine and the reference return the same value or the same error.

`regressions/` holds the inputs that once made a target fail. `tests/test_regressions.py` and
`rust/kwire/tests/regressions.rs` replay them and describe the causes.
"""
