"""How fast kwire is, and how that is known.

`python -m benches.workloads` makes the bytes, `benches/peers` holds one file for each codec that is measured, `python
-m benches.run` lets them take turns and prints ratios, `python -m benches.report` draws the record. `python -m
benches.native` does the same for codecs in other languages, `python -m benches.instructions` counts what the engine
executes, and `pytest benches/test_speed.py` watches our own figures over time.

Nothing here is imported by the package, and the bytes do not come from it either.
"""
