"""The stages of `make test` and `make test-long`, one after the other, and how long each took."""
