"""The forest on an accelerator, through JAX: split for split the trees of the core. JAX is imported when asked for."""
