"""Forms over a plan.

A row has a label, a control, a hint, an error if any, and a button that restores the default.
"""
