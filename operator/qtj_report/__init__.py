"""The report of a job: what a run has stored, as a page: one file of HTML without scripts that needs no other file.

qtj report, qtj run     a folder, or a cluster ──┐
                                                 ├──▶ Content ──▶ run_page ──▶ report.html
trainer, at the end     the artifacts ───────────┘

`qtj` and the trainer write such pages, and neither may import the other. So this package is below both.
"""
