"""The parts of the tab that says how a plan trains."""
