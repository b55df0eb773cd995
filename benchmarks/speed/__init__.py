"""How fast jaxcert is, beside SciPy and its floors, and what it adds to other work."""
