"""`qtj profile`: profiles of all workers of a job that trains, from the same step on."""
