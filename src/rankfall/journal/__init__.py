"""What the service writes down, and how it is read back."""
