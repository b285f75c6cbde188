"""Pure rules over cluster metadata: keyed diff, events, plausibility of empty responses, and assignment of replicas.

The poller, `kwire replay`, and the Spark pipeline use the same rules, so that they report the same changes. Nothing
here does I/O or reads a clock; times are passed in.
"""
