"""Alphas beside one another: what is compared of each, and how."""
