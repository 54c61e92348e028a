"""How the window looks: tokens, fonts, icons, and the one style sheet made from them."""
