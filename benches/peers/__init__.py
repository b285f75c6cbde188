"""The codecs that are measured, one file each, in the way their own documentation calls the fastest.

`peer.py` says what such a file has to offer. A codec is imported when it is asked for, so that one which is not
installed costs only its own column.
"""
