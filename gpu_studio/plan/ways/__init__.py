"""For each problem that the rules find, the ways out that are obvious, the likeliest first."""
