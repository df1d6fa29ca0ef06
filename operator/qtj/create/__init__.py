"""Files with new jobs: `qtj init` from a template, `qtj convert` from a TFJob."""
