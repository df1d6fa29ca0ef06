"""Runs on this machine: begun, shown, followed, gone on with."""
