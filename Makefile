# The daily commands; `make` alone lists them.
.PHONY: help install test slow bench lint types docs site check ci coverage verifier wheel

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

install:  ## install this checkout for work on it, at the versions that CI tests
	python -m pip install -c distribution/constraints.txt -e '.[test,lint,docs]' --config-settings editable_mode=strict

test:  ## the tests that take seconds
	python -m pytest -m "not slow" -n 2 --dist loadfile

slow:  ## the tests that take longer
	python -m pytest -m slow -n 2

coverage:  ## which lines the tests that take seconds do not reach
	python -m pytest -m "not slow" -n 2 --dist loadfile --cov --cov-report=term:skip-covered

bench:  ## the marks of a release and the peers, against the stored ratios
	python benchmarks/release.py

lint:  ## style and spelling
	ruff check . && ruff format --check . && codespell

types:  ## mypy, strict
	mypy && mypy tests

docs:  ## the pages as a site, in build/site
	python -m sphinx -W --keep-going -q -d build/doctrees -b html docs build/site

site: docs  ## the same, with a page that judges proofs in a browser (npm fetches Pyodide for it once)
	.ci/bundle-verifier build/site/verify

verifier:  ## the verifier of proofs as one file, dist/verify.pyz
	.ci/zip-verifier dist/verify.pyz

wheel: verifier  ## a release in dist: wheel, source distribution, verifier (python -m pip install build)
	rm -rf build/lib build/bdist.* cotenant.egg-info dist/cotenant-*
	python -m build --outdir dist .

check: lint types test  ## what to run before a commit

ci:  ## everything, in fresh environments, as CI does
	.ci/run
