"""Producers of queue messages."""
