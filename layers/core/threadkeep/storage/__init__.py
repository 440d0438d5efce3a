"""DynamoDB and S3 adapters of the repository ports."""
