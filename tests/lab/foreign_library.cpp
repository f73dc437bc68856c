// A library that is not a malloc, for tests/lab/lab_test.py: it can be preloaded, and changes
// nothing.
extern "C" int foreign_library_of_the_lab_tests() { return 7; }
