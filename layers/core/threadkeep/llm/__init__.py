"""Chat model, embedder and token counter adapters."""
