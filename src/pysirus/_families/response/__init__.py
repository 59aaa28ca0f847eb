"""What the rows answer, in exact integers: how it is read and checked, and its sums."""
