"""The journal: its entries and their versions, and the fold that turns them into what is known."""
