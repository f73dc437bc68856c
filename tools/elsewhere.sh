# tools/elsewhere.sh - what tools/prove-arm64 and tools/prove-windows do alike: GoogleTest, the library, its
# tests and examples are cross-compiled by a toolchain file, and ctest runs them under an emulator.
# Sourced by them, from the root of the tree, with these set:
#   me          the tool's name
#   toolchain   the toolchain file
#   emulator    the CMake variable in which it keeps the emulator it found
#   no_emulator what is said where there is none
#   marked      what is not run, and why: lines "test NAME", as ctest names it, or "case SUITE.NAME", as
#               GoogleTest does. At most 3 in 100 of either
#   part_tests  what --part builds and runs

fail() { echo "$me: $*" >&2; exit 1; }
names() { awk -v kind="$1" '$1 == kind { print $2 }' <<<"$marked"; }
joined() { paste -sd "$1"; }   # the lines of its input
emulator_is_here() { grep -q "^$emulator:FILEPATH=/" "$build/CMakeCache.txt"; }
configure() {  # FROM TO [CMAKE-OPTION...]
    cmake -G Ninja -S "$1" -B "$2" -DCMAKE_TOOLCHAIN_FILE="$PWD/$toolchain" "${@:3}" \
        >"$out/configure.log" 2>&1 || { tail -n 20 "$out/configure.log" >&2; exit 1; }
}

# Reads --part; the rest of the command line are CMake's options. out: where all is built.
begin() {
    part=
    if [ "${1-}" = --part ]; then part=1; shift; fi
    options=("$@")
    out=$PWD/build/$me
    mkdir -p "$out"
    [ -e /usr/src/googletest/CMakeLists.txt ] ||
        { echo "$me: no sources of GoogleTest here (googletest)" >&2; exit 2; }
}

# GoogleTest for the other system, in $out/googletest.
make_googletest() {
    if [ ! -e "$out/googletest/lib/libgtest_main.a" ] && [ ! -e "$out/googletest/lib/gtest_main.lib" ]; then
        configure /usr/src/googletest "$out/googletest-build" -DBUILD_GMOCK=OFF \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$out/googletest" \
            -DCMAKE_INSTALL_LIBDIR=lib ${options[@]+"${options[@]}"}
        cmake --build "$out/googletest-build" --target install >"$out/googletest.log"
    fi
}

# Builds the tests and the examples in $build, and runs what is not marked.
prove_tests() {
    make_googletest
    build=$out/whole
    [ -z "$part" ] || build=$out/part
    configure . "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g0 \
        -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_VERIFY_INTERFACE_HEADER_SETS=ON \
        -DGTest_ROOT="$out/googletest" ${options[@]+"${options[@]}"}
    check_names
    if [ -n "$part" ]; then
        cmake --build "$build" --target $part_tests "${part_targets[@]}"
    else
        cmake --build "$build" --target all outside_programs all_verify_interface_header_sets
    fi
    emulator_is_here || { echo "skipped: it is built, and $no_emulator"; exit 0; }

    GTEST_FILTER=-$(names case | joined :)
    export GTEST_FILTER
    if [ -n "$part" ]; then
        run_tests -R "^($(xargs <<<"$part_tests" | tr ' ' '|'))\$"
    else
        run_tests -E "^($(names test | joined '|'))\$"
        count
    fi
    unset GTEST_FILTER
}
run_tests() { ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@"; }

# A name that is none would mark nothing.
check_names() {
    local name
    ctest --test-dir "$build" -N >"$out/tests"
    for name in $(names test) $part_tests; do
        grep -q ": $name\$" "$out/tests" || fail "there is no test $name"
    done
    for name in $(names case); do
        grep -rqE "TEST\w*\(${name/./, }\)" tests || fail "there is no case $name"
    done
}

count() {
    local marked_tests ran programs ended
    # A program of GoogleTest's that ends early with status 0 has not passed.
    programs=$(grep -c '_test$' "$out/tests")
    ended=$(grep -c '^\[==========\].* ran\.' "$build/Testing/Temporary/LastTest.log")
    [ "$ended" -ge "$programs" ] || fail "$programs programs of GoogleTest were begun, $ended came to their end"
    marked_tests=$(names test | wc -l)
    share "$marked_tests" $(($(grep -c '^ *Test *#' "$out/tests") - marked_tests)) tests
    ran=$(awk '$1 == "[==========]" && / ran\./ { n += $2 } END { print n + 0 }' \
        "$build/Testing/Temporary/LastTest.log")
    share "$(names case | wc -l)" "$ran" "cases of GoogleTest"
}
share() {  # MARKED RAN WHAT
    echo "$me: $2 $3 passed, $1 are marked ($((($1 * 1000) / ($1 + $2) / 10)).$((($1 * 1000) / ($1 + $2) % 10)) in 100)"
    [ $(($1 * 100)) -le $((3 * ($1 + $2))) ] || fail "more than 3 in 100 are marked"
}
