"""The libraries that are compared, one file each, used in the way that their documentation recommends for speed.

`peer.py` defines the interface. A library is imported on request, so only its column is missing if it is
not installed.
"""
