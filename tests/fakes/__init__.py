"""In-memory implementations of the ports; the contract suites run on them as on the adapters."""
