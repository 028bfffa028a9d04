"""What is cached above the published files, bounded in bytes, and exact."""
