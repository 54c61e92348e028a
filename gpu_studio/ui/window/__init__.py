"""The window around the pages.

It has the actions, the notices, and the work on plans, runs and the queue.
"""
