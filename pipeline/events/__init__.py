"""Publications, withdrawals and refusals as events: CloudEvents for a webhook, OpenLineage runs for a data catalogue."""
