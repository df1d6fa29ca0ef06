"""What a job would create and need, without starting it: `qtj plan`, `qtj render`, `qtj run --dry-run`."""
