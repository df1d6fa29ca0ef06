"""By what name the API server knows the operator; it writes the first part into the `managedFields` of objects."""

from qtj_contract.version import installed_version
from qtj_operator.api.names import MANAGED_BY

__all__ = ["USER_AGENT"]

USER_AGENT = f"{MANAGED_BY}/{installed_version()}"
