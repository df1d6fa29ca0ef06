"""Decides a study from its spec and its trials: which trials start next, when it ends, and which point is best.

spec ──▶ points ──▶ plan ──▶ decide ──▶ trials to start, or the end
                      ▲         ▲
                      └─ trials ┴──▶ outcome: mean, spread and interval of each point, and the best one

Nothing here remembers anything: the trials in the status are all that there is, so every part can be computed again.
"""
