"""A real OpenSearch node with the k-NN plugin on this machine, without containers."""
