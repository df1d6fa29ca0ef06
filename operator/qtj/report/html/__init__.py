"""The report as a page: one file of HTML without scripts, whose style and pictures are part of it."""
