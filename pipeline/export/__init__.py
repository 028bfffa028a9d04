"""Export of all served snapshots as a frozen Apache Iceberg catalogue."""
