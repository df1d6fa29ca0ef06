"""What all commands use to print: safe text, errors and exit codes, stdout and stderr, `-o`."""
