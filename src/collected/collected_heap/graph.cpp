// Cold half of cairn/collected/collected_heap.hpp: the objects of the heap, and their keepers.
//
//      for each object, 8 bytes of memory from the system, for as long as the search takes:
//      parents    by which object it was reached first; `by_a_root`: none
//      next       a list of the objects to follow (then: of the way that was found)
//
// Breadth first, so the way that is found is one of the shortest. The collector's own state is not
// used: a search may be made at any time, also while a cycle runs. options::verify compares such a
// walk with the marks.
#include "engine.hpp"

#include <cairn/os/page_allocator.hpp>

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

constexpr object_name by_a_root = 1;  // no object has this name

class way_back {
public:
    explicit way_back(const collected_region& r) noexcept
        : region_{r},
          count_{(std::size_t{r.highest_chunk} * chunk_size - r.begin) / slot_size_min} {
        if (r.highest_chunk * chunk_size <= r.begin) { return; }
        size_ = 2 * count_ * sizeof(object_name);
        parents_ = static_cast<object_name*>(system_pages().allocate(size_, alignment{64}));
    }
    ~way_back() {
        if (parents_ != nullptr) { system_pages().deallocate(parents_, size_, alignment{64}); }
    }
    way_back(const way_back&) = delete;
    way_back& operator=(const way_back&) = delete;

    [[nodiscard]] bool has_memory() const noexcept { return parents_ != nullptr; }
    [[nodiscard]] object_name& parent(object_name object) noexcept {
        return parents_[(object - region_.begin) / slot_size_min];
    }
    [[nodiscard]] object_name& next(object_name object) noexcept {
        return parents_[count_ + (object - region_.begin) / slot_size_min];
    }
    /// `name` is null, or in an object that `from` refers to.
    void reach(object_name name, object_name from) noexcept {
        if (name == 0) { return; }
        const object_name object = start_of(region_, name);
        if (parent(object) != 0) { return; }
        parent(object) = from;
        (last_ == 0 ? first_ : next(last_)) = object;
        last_ = object;
    }
    /// The object that waits longest. Returns: 0 when none waits.
    [[nodiscard]] object_name take() noexcept {
        const object_name object = first_;
        if (object == 0) { return 0; }
        first_ = next(object);
        if (first_ == 0) { last_ = 0; }
        return object;
    }
    /// Turns the way from `object` to a root around. Returns: the object that a root refers to.
    [[nodiscard]] object_name turn(object_name object) noexcept {
        // next() is free to be used again: no object waits any more that the way could lead
        // through.
        object_name behind = 0;
        for (;;) {
            next(object) = behind;
            if (parent(object) == by_a_root) { return object; }
            behind = object;
            object = parent(object);
        }
    }

private:
    const collected_region& region_;
    std::size_t count_ = 0;  // of granules
    std::size_t size_ = 0;   // bytes
    object_name* parents_ = nullptr;
    object_name first_ = 0;  // of the list of objects to follow
    object_name last_ = 0;
};

std::source_location line_of_root(const collected_region& r, object_name object) noexcept {
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        if (start_of(r, name_of(root->object)) == object) { return root->line(); }
    }
    return {};
}

/// Where in `holder` a reference leads to `to`, in bytes.
std::size_t offset_of_reference(collected_region& r, object_name holder, object_name to) noexcept {
    const auto* const begin = base_of(r) + holder;
    const std::size_t size = object_size(r.chunks[holder / chunk_size]);
    std::size_t offset = SIZE_MAX;
    for_each_reference(r, holder, [&](const object_name* place) {
        const auto* const at = reinterpret_cast<const std::byte*>(place);
        // The first place counts. References of an array in memory of its own have none in the
        // object.
        if (*place == 0 || start_of(r, *place) != to || offset != SIZE_MAX) { return; }
        if (at >= begin && at < begin + size) { offset = static_cast<std::size_t>(at - begin); }
    });
    return offset;
}

class json_text {
public:
    json_text(text_sink sink, void* context) noexcept : sink_{sink}, context_{context} {}

    /// Plain text, without quotation marks to be escaped.
    void text(const char* s) noexcept { sink_(context_, s, std::strlen(s)); }
    void quoted(const char* s, std::size_t length) noexcept {
        text("\"");
        for (std::size_t i = 0; i < length; ++i) {
            if (s[i] == '"' || s[i] == '\\') { text("\\"); }
            sink_(context_, s + i, 1);
        }
        text("\"");
    }
    void number(std::uint64_t value, unsigned base = 10) noexcept {
        // 2^64 - 1 has 20 digits.
        char digits[20];
        char* at = digits + sizeof(digits);
        do { *--at = "0123456789abcdef"[value % base]; } while ((value /= base) != 0);
        sink_(context_, at, static_cast<std::size_t>(digits + sizeof(digits) - at));
    }
    void field(const char* name_and_colon, std::uint64_t value) noexcept {
        text(name_and_colon);
        number(value);
    }

private:
    text_sink sink_;
    void* context_;
};

/// By a type's number in used_types.
class type_numbers {
public:
    explicit type_numbers(const collected_region& r) noexcept : region_{r} {
        for (std::uint32_t i = 0; i < r.type_count; ++i) {
            numbers_[r.used_types[i]] = static_cast<std::uint8_t>(i);
        }
    }
    [[nodiscard]] std::uint8_t of(const type_record* type) const noexcept {
        return numbers_[type - region_.types];
    }
    [[nodiscard]] std::uint8_t of(object_name name) const noexcept {
        return of(region_.chunks[start_of(region_, name) / chunk_size].type);
    }

private:
    const collected_region& region_;
    std::uint8_t numbers_[type_record_count] = {};
};

struct counts_of_type {
    std::uint64_t objects = 0;
    std::uint64_t chunks = 0;
    std::uint64_t size = 0;  // bytes of slots
    std::uint64_t rooted = 0;
    std::uint64_t references[type_record_count / 2] = {};  // to objects of each type
};

counts_of_type count_type(collected_region& r, const type_numbers& numbers,
                          std::uint8_t type) noexcept {
    counts_of_type n;
    visit_chunks(r, r.first_chunk, [&](std::uint32_t number, const chunk_record& c) {
        if (numbers.of(c.type) != type) { return true; }
        n.chunks += c.run;
        for (std::uint32_t w = 0; w < words_per_chunk; ++w) {
            for_each_bit(objects_of_word(r, number, w), [&](std::uint32_t bit) {
                const object_name object = name_at(number, w, bit);
                // Dead, and not swept yet: it is no longer in the heap.
                if (is_condemned(r, object)) { return; }
                ++n.objects;
                n.size += object_size(c);
                for_each_reference(r, object, [&](const object_name* place) {
                    if (*place != 0) { ++n.references[numbers.of(*place)]; }
                });
            });
        }
        return true;
    });
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        n.rooted += numbers.of(name_of(root->object)) == type ? 1u : 0u;
    }
    return n;
}

void write_type(json_text& json, collected_region& r, const type_numbers& numbers,
                std::uint8_t type) noexcept {
    const counts_of_type n = count_type(r, numbers, type);
    const auto name = [&](std::uint32_t of) {
        const collected_type& t = *r.types[r.used_types[of]].type;
        json.quoted(t.name, t.name_length);
    };
    json.text(type == 0 ? "{\"type\":" : ",{\"type\":");
    name(type);
    json.field(",\"count\":", n.objects);
    json.field(",\"size\":", n.size);
    json.field(",\"chunks\":", n.chunks);
    json.field(",\"roots\":", n.rooted);
    json.text(",\"refers_to\":[");
    const char* before = "{\"type\":";
    for (std::uint32_t to = 0; to < r.type_count; ++to) {
        if (n.references[to] == 0) { continue; }
        json.text(before);
        name(to);
        json.field(",\"count\":", n.references[to]);
        json.text("}");
        before = ",{\"type\":";
    }
    json.text("]}");
}

}  // namespace

bool visit_keepers(const collected_region& constant, const void* object, keeper_function visit,
                   void* context) noexcept {
    auto& r = const_cast<collected_region&>(constant);  // only what trace() wants
    const object_name name = name_of(object);
    if (region_bits(object) != region_bits(&r) || !is_live(r, name)) { return false; }
    const object_name target = start_of(r, name);
    way_back way{r};
    if (!way.has_memory()) { return false; }
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        way.reach(name_of(root->object), by_a_root);
    }
    // Objects are followed in the order in which they were reached, until one of them leads to the
    // target.
    while (way.parent(target) == 0) {
        // Nothing waits: no root leads there, the object is garbage.
        const object_name from = way.take();
        if (from == 0) { return false; }
        for_each_reference(r, from, [&](const object_name* place) { way.reach(*place, from); });
    }
    object_name at = way.turn(target);
    const std::source_location line = line_of_root(r, at);
    for (; at != 0; at = way.next(at)) {
        const collected_type& type = *r.chunks[at / chunk_size].type->type;
        const object_name next = way.next(at);
        const collected_keeper k{base_of(r) + at, type.name, type.name_length,
                                 next == 0 ? SIZE_MAX : offset_of_reference(r, at, next),
                                 way.parent(at) == by_a_root ? line : std::source_location{}};
        const user_code runs{r};
        visit(context, k);
    }
    return true;
}

void verify_marks(collected_region& r) noexcept {
    way_back way{r};
    if (!way.has_memory()) { return; }
    const auto reach = [&](object_name name, object_name from) {
        CAIRN_ASSERT(name == 0 || (is_live(r, name) && is_marked(r, start_of(r, name))),
                     "what is reachable when marking ends is marked: every change of a reference "
                     "goes through ref, root or ref_array");
        way.reach(name, from);
    };
    for (const root_link* root = r.roots.next; root != &r.roots; root = root->next) {
        reach(name_of(root->object), by_a_root);
    }
    for (object_name from = way.take(); from != 0; from = way.take()) {
        for_each_reference(r, from, [&](const object_name* place) { reach(*place, from); });
    }
    if constexpr (asserts_enabled) { verify_listed(r); }
}

void write_region(const collected_region& constant, const void* object, text_sink sink,
                  void* context) noexcept {
    auto& r = const_cast<collected_region&>(constant);  // only what trace() wants
    const user_code runs{r};                            // the sink
    json_text json{sink, context};
    json.field("{\"capacity\":", capacity_of(r));
    json.field(",\"used\":", r.used_size);
    json.field(",\"roots\":", r.root_count);
    json.field(",\"cycles\":", r.cycle_count);
    json.text(",\"types\":[");
    const type_numbers numbers{r};
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        write_type(json, r, numbers, static_cast<std::uint8_t>(i));
    }
    json.text("]");
    if (object != nullptr) {
        json.text(",\"kept_by\":[");
        struct writer {
            json_text& json;
            const char* before;
        } w{json, "{\"type\":"};
        static_cast<void>(visit_keepers(
            r, object,
            [](void* to, const collected_keeper& k) {
                auto& out = *static_cast<writer*>(to);
                out.json.text(out.before);
                out.json.quoted(k.type_name, k.type_name_length);
                out.json.text(",\"address\":\"0x");
                out.json.number(reinterpret_cast<std::uintptr_t>(k.object), 16);
                out.json.text("\"");
                if (k.offset != SIZE_MAX) { out.json.field(",\"offset\":", k.offset); }
                out.json.text("}");
                out.before = ",{\"type\":";
            },
            &w));
        json.text("]");
    }
    json.text("}");
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
