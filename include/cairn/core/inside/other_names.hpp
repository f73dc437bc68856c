// cairn/core/inside/other_names.hpp - names that other libraries give to functions of cairn.
//
//      map.push_back(enemy{});
//          error: use of deleted function ... push_back
//          note:  ... push_back(A&&...) const = delete;  // insert(value) or emplace(args...)
//
// A class derives from the list of its kind. A call of a listed name does not compile, and the
// compiler shows the line here, which says what to write. A second name would only be one more name
// to learn.
//
// `Class` is the class that derives from the list. Two empty bases of one type need two addresses
// in the ABI of Linux. The list of a frame_arena is therefore another type than that of the arenas
// in it, and costs no word.
//
// Cost: none: the lists are empty, and no function exists.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Class>
struct other_names_of_maps {
    void push_back(...) const = delete;  // insert(value) or emplace(args...)
    void add(...) const = delete;        // insert(value) or emplace(args...)
    void get(...) const = delete;        // map[h], or find(h), which may be null
    void try_get(...) const = delete;    // find(h)
    void valid(...) const = delete;      // contains(h)
    void destroy(...) const = delete;    // erase(h)
    void remove(...) const = delete;     // erase(h)

private:
    struct handle;  // a map's handles are of its handle_type
};

struct other_names_of_pools {
    void create(...) const = delete;       // make(args...) of pool_of<T>
    void construct(...) const = delete;    // make(args...) of pool_of<T>
    void make_unique(...) const = delete;  // make_unique_in<T>(pool, args...)
    void acquire(...) const = delete;      // make(args...) of pool_of<T>
    void(free)(...) const = delete;        // destroy(p) of pool_of<T>, or deallocate(p)
    void release(...) const = delete;      // destroy(p) of pool_of<T>, or deallocate(p)
    void clear(...) const = delete;        // destroy_all() of pool_of<T>, or reset()
    void size(...) const = delete;         // stats().live_count
    void live_count(...) const = delete;   // stats().live_count
    void capacity(...) const = delete;     // stats().slot_count
    void begin(...) const = delete;        // for_each(f), or a slot_map where a loop is frequent
    void end(...) const = delete;          // for_each(f), or a slot_map where a loop is frequent
};

struct other_names_of_object_pools {
    void create(...) const = delete;     // acquire(), which returns a lease
    void construct(...) const = delete;  // acquire(), which returns a lease
    void make(...) const = delete;       // acquire(), which returns a lease
    void get(...) const = delete;        // acquire(), which returns a lease
    void(free)(...) const = delete;      // the end of its lease, or release(p)
    void destroy(...) const = delete;    // the end of its lease, or release(p)
    void size(...) const = delete;       // stats().live
};

template <class Class>
struct other_names_of_arenas {
    void alloc(...) const = delete;  // allocate(size)
    void(free)(...) const = delete;  // deallocate(p, size), or reset() for all
    void clear(...) const = delete;  // reset()
    void used(...) const = delete;   // used_size()
    void size(...) const = delete;   // used_size(), or capacity()
    void scope(...) const = delete;  // cairn::arena_scope temporary{arena}
    template <class T>
    void create(...) const = delete;  // make<T>(args...)
    template <class T>
    void emplace(...) const = delete;  // make<T>(args...)
    template <class T>
    void allocate_array(...) const = delete;  // make_array<T>(count)
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
