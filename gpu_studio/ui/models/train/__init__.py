"""What the Train page shows: one run while it goes on and after."""
