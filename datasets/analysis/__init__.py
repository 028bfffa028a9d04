"""The API for analysts: a root, its alphas, comparisons of them, and SQL views."""
