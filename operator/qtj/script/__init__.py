"""A job that is made of a program, without a file in YAML."""
