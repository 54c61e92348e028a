"""The parts of the Devices page."""
