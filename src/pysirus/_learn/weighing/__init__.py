"""One object for each kind of response: how it is read, learned from, judged and spoken of."""
