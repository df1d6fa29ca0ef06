"""What a job would take and create: `qtj plan`, `qtj render`, `qtj run --dry-run`."""
