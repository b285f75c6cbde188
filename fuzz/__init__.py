"""Coverage-guided fuzzing. Run it with `make fuzz SECONDS=60` or `python -m fuzz.run`.

Each of the six targets checks one property:

- `plan_and_bytes` (Rust): for any plan and any bytes, parsing, decoding, and validation return a value or an error, and
  a value is equal after a round trip.
- `known_plans` (Rust): the same for the plans of all declared messages.
- `index` (Rust): the parts that the index of a body finds have the values of the message, and invalid bodies its error.
- `differential` (Python): for any bytes, the engine and the reference return the same value or the same error.
- `views` (Python): for any bytes, a view has the values and the error of the reference.
- `conversation` (Python): for any bytes of both directions, conversations keep their limits and raise nothing.

`regressions/` holds the inputs that once made a target fail. `tests/test_regressions.py` and
`rust/kwire/tests/regressions.rs` replay them and describe the causes.
"""
