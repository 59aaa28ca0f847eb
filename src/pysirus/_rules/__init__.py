"""What a path says, as data: conditions, rules, lists of rules, linear terms."""
