"""Prometheus reads the operator and a training: every query of the dashboard and every alert is put to a real one."""
