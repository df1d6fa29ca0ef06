"""`qtj report`: the results of a run, or of several, as text, as a picture and for programs."""
