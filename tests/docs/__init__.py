"""Tests of the commands and files that the pages of the documentation show."""
