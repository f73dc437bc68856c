// Memory that would be gone before what uses it, and heaps without a fit.
#include <cairn/cairn.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

std::vector<std::byte> make_bytes();

//= mistake: an arena over a temporary vector
//= says: the temporary that owns these elements ends before the slice
cairn::arena a{std::vector<std::byte>(100)};

//= mistake: an arena over a temporary array
//= says: the temporary that owns these elements ends before the slice
cairn::arena a{std::array<std::byte, 100>{}};

//= mistake: a pool over a temporary
//= says: the temporary that owns these elements ends before the slice
cairn::pool_of<int> p{make_bytes()};

//= mistake: a relocatable heap over a temporary
//= says: the temporary that owns these elements ends before the slice
cairn::relocatable_heap h{make_bytes()};

//= mistake: a slice of a temporary string
//= says: the temporary that owns these elements ends before the slice
cairn::slice<char> s = std::string{"gone"};

//= mistake: a pool in a temporary arena
//= says: a temporary allocator ends before those that refer to it
cairn::pool_of<int> p{cairn::growing_arena{}};

//= mistake: a scope of a temporary arena
//= says: cannot bind
//= only: gcc
cairn::arena_scope<cairn::growing_arena> s{cairn::growing_arena{}};

//= mistake: bytes whose way of moving is a temporary
//= says: it outlives them
auto f(cairn::relocatable_heap& h) {
    return h.allocate(100, cairn::default_alignment, cairn::relocation{});
}

//= mistake: bytes whose way of moving is a temporary, among threads
//= says: it outlives them
auto f(cairn::concurrent_relocatable_heap& h) {
    return h.allocate(100, cairn::default_alignment, cairn::relocation{});
}

//= mistake: a limit of a step without a unit
//= says: step({.microseconds = 50})
void f(cairn::collected_heap& h) { h.step(50); }

//= mistake: a limit of compaction without a unit
//= says: {.microseconds = 50}
void f(cairn::relocatable_heap& h) { h.compact(50); }

//= mistake: a number type as the fit
//= says: a fit is good_fit, quick_fit, strict_good_fit, best_fit, first_fit or half_fit
void f() {
    cairn::heap<int> h{cairn::grow_by{65536}};
    h.deallocate(h.allocate(100), 100);
}

//= mistake: an alignment that is a number
//= says: alignment
auto f(cairn::heap<>& h) { return h.allocate(64, 16); }

//= fine: views, names and constant elements
void f(std::vector<std::byte> v, std::span<std::byte> s, std::byte* p) {
    std::array<std::byte, 64> array{};
    std::byte plain[64];
    cairn::arena a{v};
    cairn::arena b{s};
    cairn::arena c{std::span<std::byte>{p, 10}};
    cairn::arena d{cairn::byte_slice{p, 10}};
    cairn::arena e{plain};
    cairn::arena g{array};
    cairn::pool_of<int> pool{std::span{v}};
    cairn::heap<> h{std::span<std::byte, 64>{array}};
    cairn::pool slots{64};
    void* out[4];
    (void)slots.allocate_n(out);
    slots.deallocate_n(std::vector<void*>(out, out + 4));  // used during the call only
    cairn::slice<const char> text = std::string_view{"here"};
    cairn::slice<const int> numbers = std::vector<int>{1, 2};  // as std::span<const int>
    (void)text;
    (void)numbers;
}

//= fine: a heap that grows by itself, with every fit
struct level {
    cairn::heap<> any;
    cairn::heap<cairn::strict_good_fit> strict;
    cairn::heap<cairn::best_fit> best;
    cairn::heap<cairn::first_fit> first;
    cairn::heap<cairn::half_fit> half;
};
level l;
cairn::heap deduced;
