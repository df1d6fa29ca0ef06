"""By what name the API server knows the operator; it writes the first part into the `managedFields` of objects."""

from importlib.metadata import version

from qtj_operator.api.names import MANAGED_BY

__all__ = ["USER_AGENT"]

USER_AGENT = f"{MANAGED_BY}/{version('quantumtrainingjob')}"
