"""Trees of arrays of any framework, and the numbers in them."""
