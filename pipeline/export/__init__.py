"""A frozen catalogue of everything that is served at one instant, in Apache Iceberg."""
