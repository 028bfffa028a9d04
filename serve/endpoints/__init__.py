"""The endpoints: each module maps registry ids to the functions that answer them."""
