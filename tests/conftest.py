"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# A machine that is busy is no bug: only what is wrong may fail.
settings.register_profile("qtj", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("qtj")
