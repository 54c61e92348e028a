"""The changes of a plan that the window offers: each takes a plan and gives the changed one."""
