"""The figures by which alphas are listed: made from a snapshot's files as it is published, recorded in its pointer.

A list of ten thousand alphas thereby knows them from the pointers it reads anyway, and opens no snapshot.
"""
