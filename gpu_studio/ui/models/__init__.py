"""What the pages show, as Qt objects and item models."""
