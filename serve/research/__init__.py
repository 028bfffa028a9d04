"""Comparison of alphas: readers, searches and caches."""
