"""Requests: their dispatch, their context, and a module for each API."""
