"""The plan edits that the window offers: functions that take a plan and return the changed one."""
