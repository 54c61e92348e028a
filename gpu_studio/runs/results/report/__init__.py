"""What runs came to, as one file of HTML that opens alone, and as curves in SVG. Nothing here knows a window."""
