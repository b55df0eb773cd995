"""What an accelerator makes of jaxcert: sides, accuracy, bits and speed, in one run with jax and numpy alone."""
