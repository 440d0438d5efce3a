"""The model that needs no network: rules and packaged vectors."""
