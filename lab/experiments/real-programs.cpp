// lab/experiments/real-programs.cpp - programs that others wrote: what does their memory cost them?
//
// The whole run of a program is timed, so a memory that takes half the time changes the row by
// little. A memory lives as long as its contender, as malloc does; each run is a new state or
// document. A package that is absent takes its cases with it.
#include "lab/families/real_programs.hpp"
#include "lab/families/whole_programs.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/registry.hpp"

#include <memory>
#include <string>

#include <cairn/adapt/hooks.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#if LAB_HAS_LUA
#    include <cairn/adapt/lua.hpp>
#endif

namespace {

namespace programs = lab::real_programs;
using namespace cairn::literals;

#if LAB_HAS_LUA

/// make() returns a pointer to what `hook` is given.
template <class Make>
auto lua_on(const char* script, lua_Alloc hook, Make make) {
    return lab::repeated_on(
        1, make, [=](auto& memory) { return programs::run_lua(script, hook, memory.get()); });
}

void add_lua(lab::experiment& e, const char* name, const char* script) {
    lab::comparison& c =
        e.compare(std::string{"Lua, "} + name, {.unit = "us/run", .equal_checksums = true});
    const auto hook = &cairn::lua_hook<cairn::heap<>>;
    c.cairn("heap<>", lua_on(script, hook, [] { return std::make_unique<cairn::heap<>>(); }));
    c.cairn("heap<>, regions of 64 MiB", lua_on(script, hook, [] {
                return std::make_unique<cairn::heap<>>(cairn::grow_by{64_MiB});
            }));
    c.mallocs(lua_on(script, &programs::malloc_hook, [] { return std::unique_ptr<int>{}; }));
}

#endif

#if LAB_HAS_RAPIDJSON

cairn::heap<>& default_heap() noexcept {
    static auto* const memory = new cairn::heap<>;
    return *memory;
}
cairn::heap<>& heap_of_large_regions() noexcept {
    static auto* const memory = new cairn::heap<>{cairn::grow_by{64_MiB}};
    return *memory;
}

template <class Allocator>
auto rapidjson_on() {
    return lab::repeated_on(1, programs::document_of_1_MiB, [](const std::string& text) {
        return programs::run_rapidjson<Allocator>(text);
    });
}

#endif

#if !defined(_WIN32)

// LAB_CAIRN_MALLOC: libcairn-malloc.so, where this build has it.
void add_whole_programs(lab::experiment& e) {
    e.full_seconds = 120;
    for (const auto& p : lab::whole_programs::programs) {
        if (!lab::whole_programs::is_here(p.words[0])) {
            e.how += p.words[0] + " is not here. ";
            continue;
        }
        const std::string peak = std::string{p.name} + ", peak";
        lab::comparison& c =
            e.compare(std::string{p.name} + ", user time",
                      {.unit = "ms", .measure = lab::measure::value, .one_repetition = true});
        const auto under = [&p, peak](std::string path) {
            return [run = lab::whole_programs::run_of{&p, std::move(path), peak}] { return run; };
        };
#    if defined(LAB_CAIRN_MALLOC)
        c.cairn("libcairn-malloc", under(LAB_CAIRN_MALLOC));
#    endif
        for (const lab::malloc_library& m : lab::malloc_libraries()) {
            c.peer(m.name, under(m.path));
        }
        e.also(c, peak, {.unit = "MiB"});
    }
}

#endif

const lab::registration real_programs{
    "real-programs", "What do other people's programs pay for their memory?",
    [](lab::experiment& e) {
        e.quick_seconds = 4;
#if !defined(_WIN32)
        if (e.options().full) { add_whole_programs(e); }
#endif
#if LAB_HAS_LUA
        add_lua(e, "binary trees", programs::binary_trees);
        add_lua(e, "coroutines", programs::coroutines);
        add_lua(e, "tables by string keys", programs::string_keys);
#else
        e.how += "Lua is not here: Debian package liblua5.4-dev. ";
#endif
#if LAB_HAS_RAPIDJSON
        lab::comparison& c = e.compare("RapidJSON, a document of 1 MiB",
                                       {.unit = "us/run", .equal_checksums = true});
        c.cairn("heap<>", rapidjson_on<cairn::hooks<default_heap>::rapidjson>());
        c.cairn("heap<>, regions of 64 MiB",
                rapidjson_on<cairn::hooks<heap_of_large_regions>::rapidjson>());
        c.mallocs(rapidjson_on<rapidjson::CrtAllocator>());
#else
        e.how +=
            "RapidJSON is not here: Debian package rapidjson-dev; clang 19 does not compile it. ";
#endif
    }};

}  // namespace
