"""Use cases: each speaks to the outside only through the ports."""
