"""The report of a job: what it has stored, and what else is known of it, as a page, a picture, text and data.

qtj report, qtj run     a run's folder ────┐                               ┌──▶ run_page       ──▶ report.html
qtj report --cluster    job and events ────┼──▶ with_artifacts ──▶ Content ┼──▶ report_text    ──▶ the terminal
trainer, at the end     its environment ───┘                               ├──▶ report_picture ──▶ report.svg
                                                                           └──▶ report_data    ──▶ -o json

`qtj` and the trainer write such pages, and neither may import the other. So this package is below both.
"""
