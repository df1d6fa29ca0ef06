"""The command line: each command with its options and its help. A command imports what it needs when it runs."""
