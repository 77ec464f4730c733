"""`python -I verify.py INSTANCE PROOF` runs the folder `verify` beside this file, as before it was
one.
"""

import runpy

if __name__ == "__main__":
    runpy.run_path(__file__.removesuffix(".py"), run_name="__main__")
