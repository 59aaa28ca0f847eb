"""What is known before the data, and which rules obey it."""
