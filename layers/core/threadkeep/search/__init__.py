"""Back ends of the vector index port: exact and OpenSearch."""
