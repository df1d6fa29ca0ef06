"""The trainer on GPUs: `make test-gpu`. Its tests are in `on_gpus.py`, which no other suite collects."""
