"""Prompts, each beside the shape of its answer."""
