"""The simulators of the benchmark: one module for each library, and `__main__`, the process that runs one of them."""
