"""Widgets, tables, plots and themes that know nothing of GPU Studio.

The wings of the window are built of them.
"""
