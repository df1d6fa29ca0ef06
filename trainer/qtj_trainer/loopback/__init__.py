"""The library that keeps the ports of `qtj run` on the loopback interface: `loopback.c` explains it.

`qtj run` finds it by its place, without an import of this package.
"""
