"""Tear sheets: one HTML file with the charts and tables of one alpha, or of several side by side.

The file contains the chart library, styles and data, and needs no network. Its figures equal those of the API.
"""
