"""One object for each kind of target: what a fitted score stands for, how a rule is read, what judges it."""
