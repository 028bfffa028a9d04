"""Files of an operator: prices of benchmarks and factor returns, checked when they are read."""
