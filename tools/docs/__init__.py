"""The documentation as a site."""
