"""Pure decisions: what was observed and the time go in, actions and a status come out."""
