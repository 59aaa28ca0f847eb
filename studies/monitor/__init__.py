"""How often monitoring raises the alarm without drift and with it."""
