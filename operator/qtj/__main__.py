"""`python -m qtj`: the command, where it is not on the PATH."""

from qtj import app

app(prog_name="qtj")
