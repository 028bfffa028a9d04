"""The live catalogue: pointers of all alphas, their index in a bucket, and the list that is searched and sorted."""
