"""Coverage-guided fuzzing: ``make fuzz SECONDS=60``, or ``python -m fuzz.run --help``.

Three targets, each an invariant in a sentence:

- ``plan_and_bytes`` (Rust): whatever the plan and whatever the bytes, parsing, decoding and validating end in a value
  or an error, and a value survives its bytes.
- ``known_plans`` (Rust): the same for the plans of all declared messages.
- ``differential`` (Python): the engine and the reference give the same value or the same error for any bytes.

``regressions/`` keeps every input that once broke one of them; ``tests/test_regressions.py`` and
``rust/kwire/tests/regressions.rs`` replay them by name and tell their stories.
"""
