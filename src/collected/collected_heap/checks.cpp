// Checked builds: which regions exist, whether a reference is used where it may be, and whether a
// type lists all of its references.
#include "engine.hpp"

#if CAIRN_ASSERTS

#    include <cairn/os/mutex.hpp>

#    include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

evidence about(const collected_region& r, misuse_kind kind) noexcept {
    return {.kind = kind, .object = &r, .type = "collected_heap"};
}

constinit mutex regions_mutex;
constinit collected_region* first_region = nullptr;
// The region of the last check. Nearly always the next check is about the same region, and then it
// needs no lock.
constinit collected_region* last_region = nullptr;

class regions_lock {
public:
    regions_lock() noexcept { regions_mutex.lock(); }
    ~regions_lock() { regions_mutex.unlock(); }
    regions_lock(const regions_lock&) = delete;
    regions_lock& operator=(const regions_lock&) = delete;
};

[[CAIRN_NOINLINE]] collected_region* find_region(const void* inside) noexcept {
    const regions_lock lock;
    for (collected_region* r = first_region; r != nullptr; r = r->next_region) {
        if (region_bits(r) != region_bits(inside)) { continue; }
        compiler::atomic_ref{last_region}.store(r, compiler::memory_order::release);
        return r;
    }
    return nullptr;
}

/// The region that `inside` lies in, which may be any address. Returns: nullptr when it is none.
collected_region* known_region(const void* inside) noexcept {
    collected_region* const last =
        compiler::atomic_ref{last_region}.load(compiler::memory_order::acquire);
    const bool is_last = last != nullptr && region_bits(last) == region_bits(inside);
    return is_last ? last : find_region(inside);
}

bool is_inside_objects(const collected_region& r, const void* where) noexcept {
    return name_of(where) >= r.begin && name_of(where) < r.end;
}

void check_target(const collected_region& r, const void* target) noexcept {
    if (target == nullptr) { return; }
    CAIRN_ASSERT(region_bits(target) == region_bits(&r),
                 "a reference leads to a collected object of the same heap",
                 about(r, misuse_kind::foreign_pointer));
    CAIRN_ASSERT(is_live(r, name_of(target)), "a reference leads to an object that lives",
                 about(r, misuse_kind::outlived));
    CAIRN_ASSERT(r.now <= phase::mark || !is_condemned(r, name_of(target)),
                 "what is garbage stays garbage: it is not referred to again",
                 about(r, misuse_kind::outlived));
}

void assert_listed(const collected_region& r, bool are_listed) noexcept {
    CAIRN_ASSERT(are_listed,
                 "a type lists all of its references: this one is not in its list or trace()",
                 about(r, misuse_kind::unspecified));
}

/// The object's type lists the reference at `where` in `object`.
void check_listed(collected_region& r, object_name object, const void* where) noexcept {
    bool is_listed = false;
    for_each_reference(r, object, [&](const object_name* place) { is_listed |= place == where; });
    assert_listed(r, is_listed);
}

constexpr std::size_t numbers_max = 4096;  // references of an object; further ones count as listed

/// The places of an object's references, numbered in their rows.
class listed_places {
public:
    explicit listed_places(const reference_rows& rows) noexcept : rows_{rows} {}
    void add(std::size_t offset) noexcept {
        std::size_t number = 0;
        for (std::uint32_t i = 0; i < rows_.count && number < numbers_max; ++i) {
            const auto& [first, count] = rows_.rows[i];
            // The number of a place: that of the first one in its row, and how far behind that it
            // lies.
            const std::size_t place = (offset - first) / sizeof(object_name);
            if (offset >= first && place < count) {
                number += place;
                if (number < numbers_max) {
                    listed_[number / 64] |= std::uint64_t{1} << number % 64;
                }
                return;
            }
            number += count;
        }
    }
    [[nodiscard]] bool are_all_listed() const noexcept {
        std::size_t number = 0;
        for (std::uint32_t i = 0; i < rows_.count; ++i) {
            for (std::uint32_t k = 0; k < rows_.rows[i].count; ++k, ++number) {
                if (number == numbers_max) { return true; }
                if ((listed_[number / 64] >> number % 64 & 1) == 0) { return false; }
            }
        }
        return true;
    }

private:
    const reference_rows& rows_;
    std::uint64_t listed_[numbers_max / 64] = {};
};

void check_all_listed(collected_region& r, object_name object,
                      const reference_rows& rows) noexcept {
    // No ref began in its constructor: the type refers to nothing, or its references lie elsewhere.
    if (rows.count == 0) { return; }
    listed_places listed{rows};
    for_each_reference(r, object, [&](const object_name* place) {
        listed.add(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(place) -
                                            (base_of(r) + object)));
    });
    assert_listed(r, listed.are_all_listed());
}

void note(reference_rows& rows, std::uint32_t place) noexcept {
    rows.is_whole = rows.is_whole && rows.total++ < numbers_max;
    if (rows.count != 0) {
        auto& [first, count] = rows.rows[rows.count - 1];
        // Neighbours, as members of one array are, share a row.
        if (place == first + count * sizeof(object_name)) {
            ++count;
            return;
        }
    }
    // References of types with more rows are checked at each store.
    if (rows.count == sizeof(rows.rows) / sizeof(rows.rows[0])) {
        rows.is_whole = false;
    } else {
        rows.rows[rows.count++] = {place, 1};
    }
}

}  // namespace

void add_to_known_regions(collected_region& r) noexcept {
    const regions_lock lock;
    r.next_region = first_region;
    first_region = &r;
}

void remove_from_known_regions(collected_region& r) noexcept {
    const regions_lock lock;
    compiler::atomic_ref{last_region}.store(nullptr, compiler::memory_order::release);
    collected_region** at = &first_region;
    while (*at != &r) { at = &(*at)->next_region; }
    *at = r.next_region;
}

void check_new_ref(const void* where, const void* target) noexcept {
    collected_region* const r = known_region(where);
    CAIRN_ASSERT(r != nullptr && is_inside_objects(*r, where),
                 "a ref is a member of a collected object: elsewhere write root<T>, or T*");
    check_target(*r, target);
    collected_region::construction& now = r->under_construction;
    const auto* const place = static_cast<const std::byte*>(where);
    CAIRN_ASSERT(place >= now.begin && place < now.end,
                 "a ref lives as long as its object: no optional, no variant, no union of it",
                 about(*r, misuse_kind::unspecified));
    // Where the object has references is known from now on; trace() is compared with it.
    note(now.begun, static_cast<std::uint32_t>(place - now.begin));
}

/// Only where objects move at each safe point. Elsewhere a load is not checked.
void check_load(const void* where) noexcept {
    const collected_region& r = region_of(where);
    CAIRN_ASSERT(!r.collects_always || is_live(r, name_of(where)),
                 "a reference is used in an object that lives: a T* is good until the next safe "
                 "point",
                 about(r, misuse_kind::outlived));
}

void check_store(const void* where, const void* target) noexcept {
    collected_region* const r = known_region(where);
    const object_name name = name_of(where);
    CAIRN_ASSERT(r != nullptr && name >= r->begin && name < r->end,
                 "a ref is a member of a collected object: elsewhere write root<T>, or T*");
    CAIRN_ASSERT(is_live(*r, name),
                 "a reference is used in an object that lives: a T* is good until the next safe "
                 "point",
                 about(*r, misuse_kind::outlived));
    check_target(*r, target);
    // The trace() of an object that is being built may not be called yet.
    if (r->under_construction.begin != nullptr || r->is_in_user_code) { return; }
    const object_name object = start_of(*r, name);
    const type_record& t = *r->chunks[object / chunk_size].type;
    // A list names members: their places are the same in each object, and make() has compared them
    // with the references that began in it. A trace() is asked at each store.
    const bool is_list_checked =
        t.type->way == tracing::unlearned && r->rows[&t - r->types].is_whole;
    if (!is_list_checked) { check_listed(*r, object, where); }
}

void check_root(const void* where, const void* target) noexcept {
    collected_region* const r = known_region(target);
    CAIRN_ASSERT(r != nullptr, "a root refers to a collected object");
    const collected_region* const around = known_region(where);
    CAIRN_ASSERT(around == nullptr || !is_inside_objects(*around, where),
                 "a root lives outside of collected objects: inside write ref<T>",
                 about(*r, misuse_kind::unspecified));
    check_target(*r, target);
}

void check_weak(const void* target) noexcept {
    const collected_region* const r = known_region(target);
    CAIRN_ASSERT(r != nullptr, "a weak_ref refers to a collected object");
    check_target(*r, target);
}

construction_scope::construction_scope(collected_region& r, void* slot, std::size_t size) noexcept
    : region_{r}, outer_{r.under_construction} {
    CAIRN_ASSERT(!r.is_in_trace, "a trace makes no objects", about(r, misuse_kind::unspecified));
    r.under_construction = {};
    r.under_construction.begin = static_cast<std::byte*>(slot);
    r.under_construction.end = static_cast<std::byte*>(slot) + size;
}

construction_scope::~construction_scope() { region_.under_construction = outer_; }

void construction_scope::check_listed(const collected_type&, void* object) noexcept {
    const reference_rows& rows = region_.under_construction.begun;
    check_all_listed(region_, name_of(object), rows);
    const chunk_record& c = region_.chunks[name_of(object) / chunk_size];
    reference_rows& of_type = region_.rows[c.type - region_.types];
    // What the first object showed holds for all of the type: refs are members, at the same places.
    if (of_type.count == 0) { of_type = rows; }
}

void verify_listed(collected_region& r) noexcept {
    if (r.under_construction.begin != nullptr) { return; }  // its references have not all begun
    visit_chunks(r, r.first_chunk, [&r](std::uint32_t number, const chunk_record& c) {
        const reference_rows& rows = r.rows[c.type - r.types];
        if (rows.count == 0) { return true; }
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            const std::uint64_t kept = objects_of_word(r, number, w) & mark_word(r, number, w);
            for_each_bit(kept, [&](std::uint32_t bit) {
                check_all_listed(r, name_at(number, w, bit), rows);
            });
        }
        return true;
    });
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail

#endif
