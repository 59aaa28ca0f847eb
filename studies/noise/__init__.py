"""How often it is said that nothing was learned: on tables of pure noise, and on tables of little signal."""
