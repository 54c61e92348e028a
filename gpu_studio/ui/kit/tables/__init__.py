"""Tables, and cells that draw by themselves."""
