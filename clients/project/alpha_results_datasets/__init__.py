"""The package `datasets` of a checkout under its installed name.

A program that imports this name runs in a checkout and beside other packages; `datasets` alone is also the name of Hugging Face's.
"""

import sys

import datasets

sys.modules[__name__] = datasets
