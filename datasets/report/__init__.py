"""A tear sheet: one HTML file of the charts and tables of one alpha, or of several beside each other.

The file needs no host and no network: library, styles and data stand in it. Its figures are those of the interface.
"""
