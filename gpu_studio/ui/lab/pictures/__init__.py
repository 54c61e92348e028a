"""How the pictures of results are drawn: bars, a matrix, curves over logarithmic axes."""
