"""What every command shares at the terminal: text, errors, output for programs."""
