"""The Layers tab without a widget: its lanes, what a drop comes to, and what a placement will do."""
