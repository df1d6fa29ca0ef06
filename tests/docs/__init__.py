"""The documentation: what the site is built with, and tests of the commands and files that its pages show."""
