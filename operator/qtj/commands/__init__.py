"""The commands of `qtj`, with their options; each imports what it needs when it runs."""
