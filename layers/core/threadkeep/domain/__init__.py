"""Pure rules and data: no input or output, no vendor library."""
