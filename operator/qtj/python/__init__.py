"""What `import qtj` offers to programs and notebooks: a job, and a handle on it wherever it runs.

Job ──run──▶ `qtj run` as a process ──▶ Here ──────┐
                                                   ├──▶ Handle: status, follow, wait, history, weights, ...
Job ──submit──▶ an API server ──▶ OnCluster ───────┘

Everything is what the commands do; this adds no second way. `qtj` itself imports it when a name is asked for.
"""
