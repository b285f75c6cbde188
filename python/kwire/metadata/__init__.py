"""Pure rules over cluster metadata: keyed diff, events, and plausibility of empty responses.

The poller, `kwire replay`, and the Spark pipeline all use these modules, so that they report the same changes. Nothing
here does I/O or reads a clock; times are passed in.
"""
