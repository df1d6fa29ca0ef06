"""`make bench-scale`: the operator beside a bare client and another operator, on one API server, with fake nodes."""
