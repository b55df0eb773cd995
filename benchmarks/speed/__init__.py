"""How fast jaxcert is: beside SciPy, beside the least that any implementation has to do, and as problems grow."""
