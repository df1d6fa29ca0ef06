"""Settings of all tests."""

import signal

from hypothesis import HealthCheck, settings

# A machine that is busy is no bug: only what is wrong may fail.
settings.register_profile("qtj", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("qtj")

# A shell lets what it runs in the background ignore interrupts, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# And nohup lets it ignore hang-ups.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
