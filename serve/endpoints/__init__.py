"""The endpoints: each module maps registry ids to functions."""
