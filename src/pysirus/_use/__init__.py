"""What can be done with a fitted model: explain it, edit it, compare it, draw its effects."""
