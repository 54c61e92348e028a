"""The Layers tab: its lanes, the effect of drops, and the forecast of a placement."""
