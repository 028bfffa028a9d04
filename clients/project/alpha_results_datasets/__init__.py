"""The package `datasets` of a checkout under its installed name.

A program that imports this name works in a checkout and beside other packages; Hugging Face's package is also called `datasets`.
"""

import sys

import datasets

sys.modules[__name__] = datasets
