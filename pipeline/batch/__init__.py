"""Batches: selection of due seals, and parallel builds in processes, on this machine or a cluster."""
