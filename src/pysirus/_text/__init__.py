"""Text: numbers, names and tables as people write them; errors in the words of Python or of the command line."""
