// Only what CMake parses in front of it.
