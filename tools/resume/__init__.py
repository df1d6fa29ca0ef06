"""Which parts of a Keras training a restart continues: a table that is measured, not written."""
