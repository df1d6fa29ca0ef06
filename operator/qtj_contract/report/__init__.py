"""The report of a job as a page: one file of HTML without scripts, whose style and pictures are part of it.

qtj report, qtj run     a folder, or a cluster ──┐
                                                 ├──▶ Content ──▶ run_page ──▶ report.html
trainer, at the end     the artifacts ───────────┘

`qtj` and the trainer write such pages, and neither may import the other. So the page is part of what they share.
"""
