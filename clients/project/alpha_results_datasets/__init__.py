"""The package `datasets` of a checkout, under the name that it has wherever else it is installed.

A program that imports this name runs in a checkout and beside other packages; `datasets` alone is also the name of Hugging Face's.
"""

import sys

import datasets

sys.modules[__name__] = datasets
