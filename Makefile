# The thin front: every target first sees to it that its tools are there (tools/bootstrap), then
# calls the one script or preset that does the work. CAIRN_NO_INSTALL=1: say what is missing, install
# nothing. make lab LAB='--speed 0.1': words for `cairn lab`.
.PHONY: help lab demo test test-outside check docs release format clean

help:
	@echo "make lab     measure cairn against what you use now; writes cairn-lab.html"
	@echo "make demo    one game on malloc and on cairn, in a window; DEMO='--headless' without one"
	@echo "make test    build and run the tests"
	@echo "make test-outside  what make test leaves to the check: other projects with cairn, linkers, debuggers"
	@echo "make check   everything a change must pass (.ci/run)"
	@echo "make docs    the documentation site, searchable, in build/docs/site"
	@echo "make release the packages and sources of the last commit, with checksums, in build/release"
	@echo "make format  clang-format over every C++ file"
	@echo "make clean   remove build/"

lab:
	@tools/lab $(LAB)

demo:
	@tools/bootstrap demo
	@CXX=$${CXX:-g++} cmake --preset release -B build/demo -DCAIRN_TESTS=OFF -DCAIRN_DEMO=ON >/dev/null
	@cmake --build build/demo --target cairn-demo
	@build/demo/demo/cairn-demo $(DEMO)

test:
	@tools/bootstrap test
	@CXX=$${CXX:-g++} cmake --workflow --preset dev

test-outside:
	@tools/bootstrap test
	@CXX=$${CXX:-g++} cmake --workflow --preset outside

check:
	@.ci/run

docs:
	@tools/docs

release:
	@tools/release

format:
	@tools/bootstrap format
	@tools/format --write

clean:
	rm -rf build
