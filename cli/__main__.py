"""`python -m cotenant.cli`."""

from . import main

main()
