// Cold half of cairn/debug/registry.hpp: the list of named memories, and the texts of a snapshot.
#include <cairn/debug/registry.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/os/thread_identity.hpp>

#include <cstdio>
#include <cstring>
#include <new>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct detail::listed_memory {
    const char* name;
    void* memory;
    const void* source;
    ask_for_facts ask;
    std::uint64_t thread;  // thread_serial() of the thread that asks; 0: any
    listed_memory* next;   // in the order of names
    memory_facts published;
    bool is_sampled;
};

namespace {

using detail::listed_memory;

struct list_of_memories {
    mutex lock;
    listed_memory* first = nullptr;
};
constinit list_of_memories all;

void ask(listed_memory& m) noexcept {
    const std::size_t highest = m.is_sampled ? m.published.peak_size : memory_facts::unknown;
    m.published = m.ask(m.memory);
    memory_facts& f = m.published;
    if (f.peak_size != memory_facts::unknown || f.live_size == memory_facts::unknown) {
        m.is_sampled = false;
        return;
    }
    m.is_sampled = true;
    f.peak_size = highest != memory_facts::unknown && highest > f.live_size ? highest : f.live_size;
}

/// The index of the memory that `of` takes its blocks from, which is that of its node. A wrapper
/// that owns its memory has the same address, and is no source of itself.
std::uint32_t source_index(const listed_memory& of) noexcept {
    std::uint32_t i = 0;
    for (const listed_memory* m = all.first; m != nullptr; m = m->next, ++i) {
        if (of.source != nullptr && m->memory == of.source && m->memory != of.memory) { return i; }
    }
    return memory_node::no_source;
}

memory_node node_of(const listed_memory& m) noexcept {
    memory_node n{};
    std::strncpy(n.name, m.name, memory_node::name_size_max);
    n.facts = m.published;
    n.is_sampled = m.is_sampled;
    n.source = source_index(m);
    return n;
}

/// A text that is handed on in pieces.
struct writer {
    memory_snapshot::sink to;
    void* context;

    void put(const char* text) const { to(text, std::strlen(text), context); }
    template <class... Args>
    void print(const char* format, Args... args) const {
        char piece[160];
        const int size = std::snprintf(piece, sizeof piece, format, args...);
        to(piece, static_cast<std::size_t>(size), context);
    }
    /// `text` between quotes, as JSON wants it.
    void quoted(const char* text) const {
        put("\"");
        for (; *text != 0; ++text) {
            const auto c = static_cast<unsigned char>(*text);
            if (c < 0x20) {
                print("\\u%04x", unsigned{c});
            } else {
                if (c == '"' || c == '\\') { put("\\"); }
                to(text, 1, context);
            }
        }
        put("\"");
    }
    void number(const char* name, std::size_t value) const {
        if (value != memory_facts::unknown) { print(", \"%s\": %zu", name, value); }
    }
};

/// Characters up to the last '/' of `name`, with it.
std::size_t group_size(const char* name) noexcept {
    const char* const last = std::strrchr(name, '/');
    return last == nullptr ? 0 : static_cast<std::size_t>(last - name) + 1;
}

/// The lines of the groups that `name` is in and `before` is not. Returns: how deep `name` stands.
int write_groups(const writer& out, const char* name, const char* before) {
    int depth = 0;
    const std::size_t end = group_size(name);
    for (std::size_t at = 0; at < end; ++depth) {
        const std::size_t size = std::strcspn(name + at, "/");
        if (std::strncmp(name, before, at + size + 1) != 0) {
            out.print("%*s%.*s/\n", 2 * depth, "", static_cast<int>(size), name + at);
        }
        at += size + 1;
    }
    return depth;
}

}  // namespace

// -------------------------------------------------------------------- registry

registry::entry::entry(const char* name, void* memory, const void* source,
                       detail::ask_for_facts ask_it, threads which) noexcept {
    void* const p = system_memory().allocate(sizeof(listed_memory), alignment::of<listed_memory>());
    if (p == nullptr) { return; }
    listed_ = ::new (p)
        listed_memory{name,    memory, source, ask_it, which == threads::any ? 0 : thread_serial(),
                      nullptr, {},     false};
    ask(*listed_);
    const lock_scope held{all.lock};
    listed_memory** at = &all.first;
    while (*at != nullptr && std::strcmp((*at)->name, name) < 0) { at = &(*at)->next; }
    listed_->next = *at;
    *at = listed_;
}

registry::entry::~entry() {
    if (listed_ == nullptr) { return; }
    {
        const lock_scope held{all.lock};
        listed_memory** at = &all.first;
        while (*at != listed_) { at = &(*at)->next; }
        *at = listed_->next;
    }
    system_memory().deallocate(listed_, sizeof(listed_memory), alignment::of<listed_memory>());
}

void registry::publish() noexcept {
    const std::uint64_t thread = thread_serial();
    const lock_scope held{all.lock};
    for (listed_memory* m = all.first; m != nullptr; m = m->next) {
        if (m->thread == 0 || m->thread == thread) { ask(*m); }
    }
}

bool registry::read(memory_snapshot& out) noexcept {
    out.nodes_.clear();
    const lock_scope held{all.lock};
    for (const listed_memory* m = all.first; m != nullptr; m = m->next) {
        if (!out.nodes_.push_back(node_of(*m))) {
            out.nodes_.clear();
            return false;
        }
    }
    return true;
}

// -------------------------------------------------------------------- snapshots

const memory_node* memory_snapshot::find(const char* name) const noexcept {
    std::size_t low = 0;
    for (std::size_t count = nodes_.size(); count != 0;) {
        const std::size_t half = count / 2;
        const int order = std::strcmp(nodes_[low + half].name, name);
        if (order == 0) { return &nodes_[low + half]; }
        low = order < 0 ? low + half + 1 : low;
        count = order < 0 ? count - half - 1 : half;
    }
    return nullptr;
}

void memory_snapshot::write_text(sink to, void* context) const {
    const writer out{to, context};
    const auto field = [&](const char* what, std::size_t value) {
        if (value != memory_facts::unknown) { out.print(", %s %zu", what, value); }
    };
    const char* before = "";
    for (const memory_node& n : nodes_) {
        const int depth = write_groups(out, n.name, before);
        out.print("%*s%s: ", 2 * depth, "", n.name + group_size(n.name));
        if (n.facts.live_size == memory_facts::unknown) {
            out.put("live bytes are not known");
        } else {
            out.print("%zu bytes live", n.facts.live_size);
        }
        field("capacity", n.facts.capacity);
        field("limit", n.facts.limit_size);
        field(n.is_sampled ? "sampled peak" : "peak", n.facts.peak_size);
        field("requests", n.facts.allocated_count);
        field("refused", n.facts.refused_count);
        if (n.source != memory_node::no_source) { out.print(", from %s", nodes_[n.source].name); }
        out.put("\n");
        before = n.name;
    }
}

void memory_snapshot::write_json(sink to, void* context) const {
    const writer out{to, context};
    out.put("{\"memories\": [");
    const char* between = "\n";
    for (const memory_node& n : nodes_) {
        out.put(between);
        out.put("  {\"name\": ");
        out.quoted(n.name);
        out.number("live_size", n.facts.live_size);
        out.number("capacity", n.facts.capacity);
        out.number("limit_size", n.facts.limit_size);
        out.number("peak_size", n.facts.peak_size);
        if (n.is_sampled) { out.put(", \"peak_is_sampled\": true"); }
        out.number("allocated_count", n.facts.allocated_count);
        out.number("refused_count", n.facts.refused_count);
        if (n.source != memory_node::no_source) {
            out.put(", \"source\": ");
            out.quoted(nodes_[n.source].name);
        }
        out.put("}");
        between = ",\n";
    }
    out.put("\n]}\n");
}

void memory_snapshot::write_trace_events(double microseconds, sink to, void* context) const {
    const writer out{to, context};
    for (const memory_node& n : nodes_) {
        if (n.facts.live_size == memory_facts::unknown) { continue; }
        out.put("{\"name\": ");
        out.quoted(n.name);
        out.print(", \"ph\": \"C\", \"pid\": 1, \"ts\": %.3f, \"args\": {\"live_size\": %zu}},\n",
                  microseconds, n.facts.live_size);
    }
}

void memory_snapshot::write_frame_event(double begin, double end, sink to, void* context) {
    const writer out{to, context};
    out.print(
        "{\"name\": \"frame\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f, "
        "\"dur\": %.3f},\n",
        begin, end - begin);
}

}}  // namespace cairn::CAIRN_FLAVOUR
