"""All checks of a job before it is started: `qtj validate`, and the first step of `run`, `plan` and `render`."""
