"""The Devices page: the cards, their users, their links, and the doctor's findings."""
