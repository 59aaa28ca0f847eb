"""What constraints cost: lists with and without them, beside gradient boosting with the same constraints."""
