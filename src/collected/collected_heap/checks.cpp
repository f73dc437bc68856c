// What checked builds know: which regions there are, whether a reference is used where it may be,
// whether a type tells all of its references, whether marking has reached what a simple walk does.
#include "engine.hpp"

#include <cairn/os/mutex.hpp>

#include <cstring>

namespace cairn::inline CAIRN_FLAVOUR::detail {

namespace {

[[maybe_unused]] evidence about(const collected_region& r, misuse_kind kind) noexcept {
    return {.kind = kind, .object = &r, .type = "collected_heap"};
}

/// True when `name` is, or lies in, an object that is live.
[[maybe_unused]] bool is_live(const collected_region& r, object_name name) noexcept {
    if (name < r.begin || name >= r.end || is_free_chunk(r, name / chunk_size)) { return false; }
    const chunk_record& c = r.chunks[name / chunk_size];
    const std::uint32_t slot = slot_of(c, name);
    return slot < c.slot_count && ((c.live[slot / 64] >> (slot % 64)) & 1) != 0;
}

/// Calls visit(name) for each reference of the object, null ones too.
template <class Visit>
void for_each_reference(collected_region& r, object_name object, Visit visit) noexcept {
    struct shows : visitor {
        explicit shows(Visit& f) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  for (std::size_t i = 0; i < count; ++i) {
                      static_cast<shows&>(v).visit(first + i);
                  }
              }},
              visit{f} {}
        Visit& visit;
    };
    const chunk_record& c = r.chunks[object / chunk_size];
    std::byte* const memory = base_of(r) + object;
    if (c.way == tracing::all_words) {
        for (std::size_t i = 0; i < object_size(c); i += sizeof(object_name)) {
            visit(reinterpret_cast<object_name*>(memory + i));
        }
    } else if (c.type->type->trace != nullptr) {
        shows v{visit};
        c.type->type->trace(memory, v);
    }
}

}  // namespace

#if CAIRN_ASSERTS

namespace {

constinit mutex regions_mutex;
constinit collected_region* first_region = nullptr;

class regions_lock {
public:
    regions_lock() noexcept { regions_mutex.lock(); }
    ~regions_lock() { regions_mutex.unlock(); }
    regions_lock(const regions_lock&) = delete;
    regions_lock& operator=(const regions_lock&) = delete;
};

collected_region* known_region(const void* inside) noexcept {
    const regions_lock lock;
    for (collected_region* r = first_region; r != nullptr; r = r->next_region) {
        if (region_bits(r) == region_bits(inside)) { return r; }
    }
    return nullptr;
}

bool is_inside_objects(const collected_region& r, const void* where) noexcept {
    return name_of(where) >= r.begin && name_of(where) < r.end;
}

collected_region& region_of_ref(const void* where) noexcept {
    collected_region* const r = known_region(where);
    CAIRN_ASSERT(r != nullptr && is_inside_objects(*r, where),
                 "a ref is a member of a collected object: elsewhere write root<T>, or T*");
    return *r;
}

void check_target(const collected_region& r, const void* target) noexcept {
    if (target == nullptr) { return; }
    CAIRN_ASSERT(region_bits(target) == region_bits(&r),
                 "a reference leads to a collected object of the same heap",
                 about(r, misuse_kind::foreign_pointer));
    const object_name name = name_of(target);
    CAIRN_ASSERT(is_live(r, name), "a reference leads to an object that lives",
                 about(r, misuse_kind::outlived));
    CAIRN_ASSERT(!is_condemned(r, name),
                 "what is garbage stays garbage: it is not referred to again",
                 about(r, misuse_kind::outlived));
}

object_name object_around(const collected_region& r, object_name name) noexcept {
    const std::uint32_t behind_first = r.chunks[name / chunk_size].behind_first;
    return start_of(r, name - behind_first * static_cast<object_name>(chunk_size));
}

void check_told(collected_region& r, object_name object, const void* where) noexcept {
    bool is_told = false;
    for_each_reference(r, object, [&](const object_name* place) { is_told |= place == where; });
    CAIRN_ASSERT(is_told,
                 "a type tells all of its references: this one is not in its list or trace()",
                 about(r, misuse_kind::unspecified));
}

}  // namespace

void add_to_known_regions(collected_region& r) noexcept {
    const regions_lock lock;
    r.next_region = first_region;
    first_region = &r;
}

void remove_from_known_regions(collected_region& r) noexcept {
    const regions_lock lock;
    collected_region** at = &first_region;
    while (*at != &r) { at = &(*at)->next_region; }
    *at = r.next_region;
}

void check_new_ref(const void* where, const void* target) noexcept {
    collected_region& r = region_of_ref(where);
    check_target(r, target);
    collected_region::construction& now = r.under_construction;
    const auto* const place = static_cast<const std::byte*>(where);
    constexpr std::size_t refs_max = sizeof(now.refs) / sizeof(now.refs[0]);
    if (place < now.begin || place >= now.end || now.ref_count == refs_max) { return; }
    now.refs[now.ref_count++] = static_cast<std::uint32_t>(place - now.begin);
}

void check_store(const void* where, const void* target) noexcept {
    collected_region& r = region_of_ref(where);
    check_target(r, target);
    if (r.under_construction.begin == nullptr && !r.is_in_user_code) {
        check_told(r, object_around(r, name_of(where)), where);
    }
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

construction_scope::construction_scope(collected_region& r, void* slot, std::size_t size) noexcept
    : region_{r}, outer_{r.under_construction} {
    CAIRN_ASSERT(!r.is_in_trace, "a trace makes no objects", about(r, misuse_kind::unspecified));
    r.under_construction = {};
    r.under_construction.begin = static_cast<std::byte*>(slot);
    r.under_construction.end = static_cast<std::byte*>(slot) + size;
}

construction_scope::~construction_scope() { region_.under_construction = outer_; }

void construction_scope::check_told(const collected_type&, void* object) noexcept {
    const auto& now = region_.under_construction;
    for (std::uint32_t i = 0; i < now.ref_count; ++i) {
        detail::check_told(region_, name_of(object), now.begin + now.refs[i]);
    }
}

#else

void add_to_known_regions(collected_region&) noexcept {}
void remove_from_known_regions(collected_region&) noexcept {}
void check_new_ref(const void*, const void*) noexcept {}
void check_store(const void*, const void*) noexcept {}
void check_root(const void*, const void*) noexcept {}

#endif

namespace {

/// Marks again, beside the marks: in the bits and on the stack that marking has left empty.
class second_walk {
public:
    explicit second_walk(collected_region& r) noexcept : region_{r} {
        std::memset(r.set_aside, 0,
                    std::size_t{r.highest_chunk - r.first_chunk} * words_per_chunk * 8);
    }
    void run() noexcept {
        for (root_link* root = region_.roots.next; root != &region_.roots; root = root->next) {
            reach(name_of(root->object));
        }
        do {
            is_incomplete_ = false;
            follow_stack();
            if (is_incomplete_) { push_all_reached(); }
        } while (is_incomplete_ || region_.stack_count != 0);
    }

private:
    void reach(object_name name) noexcept {
        if (name == 0) { return; }
        const chunk_record& c = region_.chunks[name / chunk_size];
        const std::uint32_t slot = slot_of(c, name);
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        CAIRN_ASSERT(is_live(region_, name) && (c.mark[slot / 64] & bit) != 0,
                     "what is reachable when marking ends is marked: every change of a reference "
                     "goes through ref, root or ref_array");
        std::uint64_t& reached =
            region_
                .set_aside[(name / chunk_size - region_.first_chunk) * words_per_chunk + slot / 64];
        if ((reached & bit) != 0) { return; }
        reached |= bit;
        push(start_of(region_, name));
    }
    void push(object_name object) noexcept {
        if (region_.stack_count == region_.stack_capacity) {
            is_incomplete_ = true;
        } else {
            region_.stack[region_.stack_count++] = object;
        }
    }
    void follow_stack() noexcept {
        while (region_.stack_count != 0) {
            const object_name object = region_.stack[--region_.stack_count];
            for_each_reference(region_, object, [this](const object_name* p) { reach(*p); });
        }
    }
    /// The stack was too small: each object that was reached is followed once more.
    void push_all_reached() noexcept {
        is_incomplete_ = false;
        visit_chunks(region_, region_.first_chunk, [this](std::uint32_t n, const chunk_record& c) {
            for (std::uint32_t w = 0; w < word_count(c); ++w) {
                for_each_bit(region_.set_aside[(n - region_.first_chunk) * words_per_chunk + w],
                             [&](std::uint32_t bit) {
                                 for_each_reference(region_, slot_name(c, n, w, bit),
                                                    [this](const object_name* p) { reach(*p); });
                             });
            }
            return true;
        });
    }

    collected_region& region_;
    bool is_incomplete_ = false;
};

void validate_objects(collected_region& r, std::uint32_t number, const chunk_record& c) noexcept {
    for (std::uint32_t w = 0; w < word_count(c); ++w) {
        CAIRN_ASSERT((c.live[w] & ~slots_of_word(c, w)) == 0, "a live bit stands for a slot");
        CAIRN_ASSERT(r.now != phase::idle || c.mark[w] == 0,
                     "between two cycles nothing is marked");
        for_each_bit(c.live[w], [&](std::uint32_t bit) {
            const object_name object = slot_name(c, number, w, bit);
            if (is_condemned(r, object)) { return; }
            for_each_reference(r, object, [&](const object_name* p) {
                CAIRN_ASSERT(*p == 0 || is_live(r, *p), "what an object refers to lives");
                CAIRN_ASSERT(*p == 0 || !is_condemned(r, *p),
                             "what an object refers to is no garbage");
            });
        });
    }
}

}  // namespace

void verify_marks(collected_region& r) noexcept { second_walk{r}.run(); }

void validate_region(const collected_region& constant) noexcept {
    auto& r = const_cast<collected_region&>(constant);  // only what trace() wants
    std::size_t used = 0;
    std::uint32_t chunks = 0;
    visit_chunks(r, r.first_chunk, [&](std::uint32_t number, const chunk_record& c) {
        chunks += c.run;
        for (std::uint32_t w = 0; w < word_count(c); ++w) {
            used += static_cast<std::size_t>(std::popcount(c.live[w])) * object_size(c);
        }
        validate_objects(r, number, c);
        return true;
    });
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        const type_record& t = r.types[r.used_types[i]];
        used += static_cast<std::size_t>(std::popcount(t.free_bits)) * t.type->size;
        CAIRN_ASSERT(t.free_bits == 0 || (*t.live_word & t.free_bits) == 0,
                     "a slot that make() may take is not live");
        for (std::uint32_t k = t.first_with_room; k != no_chunk; k = r.chunks[k].next_with_room) {
            CAIRN_ASSERT(r.chunks[k].is_listed && r.chunks[k].type == &t,
                         "a chunk with room is in the list of its type");
        }
    }
    CAIRN_ASSERT(chunks == r.end_chunk - r.first_chunk - r.free_chunk_count,
                 "a chunk is taken or free");
    CAIRN_ASSERT(used == r.used_size, "what is used is live or in an open word");
    std::size_t roots = 0;
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        ++roots;
        CAIRN_ASSERT(is_live(r, name_of(root->object)), "what a root refers to lives");
    }
    CAIRN_ASSERT(roots == r.root_count, "the roots are counted");
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
