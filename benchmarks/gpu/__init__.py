"""What an accelerator makes of jaxcert: sides, accuracy, bits and speed, in one run without any extra."""
