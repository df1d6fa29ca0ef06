"""Decisions: a test file per policy, with worlds that read aloud (`world`)."""
