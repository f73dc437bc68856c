// What checked builds know: which regions there are, whether a reference is used where it may be,
// whether a type tells all of its references.
#include "engine.hpp"

#include <cairn/os/mutex.hpp>

#include <cstring>

namespace cairn::inline CAIRN_FLAVOUR::detail {

namespace {

[[maybe_unused]] evidence about(const collected_region& r, misuse_kind kind) noexcept {
    return {.kind = kind, .object = &r, .type = "collected_heap"};
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
        check_told(r, start_of(r, name_of(where)), where);
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
void check_weak(const void*) noexcept {}

#endif

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
