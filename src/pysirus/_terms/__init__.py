"""What a list is made of: rules, their conditions and their texts; linear terms."""
