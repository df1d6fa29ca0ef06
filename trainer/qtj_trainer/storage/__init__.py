"""Artifacts under file:// and gs://, with one small protocol.

store = open_store("gs://bucket/qcnn")
store.write("weights/1f3c.h5", data)
read_uri("gs://bucket/qcnn/weights/1f3c.h5")
"""

from qtj_trainer.storage.locate import open_store, read_uri, write_uri
from qtj_trainer.storage.store import MissingObjectError, Store

__all__ = ["MissingObjectError", "Store", "open_store", "read_uri", "write_uri"]
