"""`qtj report`: what came of a job."""
