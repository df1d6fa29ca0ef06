"""Everything that can be found wrong with a job before it is started."""
