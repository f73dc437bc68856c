// lab/families/graph_memories.hpp - who plays the graphs of graph_family.hpp: cairn's collector,
// and what one has without a collector. Collectors of others: lab/peers/offers.hpp.
//
//      collected    cairn::collected_heap, with a pace: what its safe point does
//      by_hand      new and delete, by a program that knows when an object ends: the limit
//      counted      std::shared_ptr
//      handles      cairn::shared_handle
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/shared_handle.hpp>

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

// ---- cairn --------------------------------------------------------------------------------------

/// What a safe point does: a time, all at once where memory is short, or what is owed.
struct pace {
    std::uint32_t microseconds = 0;
    bool stops = false;
    double room = 0.5;  ///< beyond the live size, as a share of it
};

/// What each safe point did, in bytes of work: a budget of time is replayed as the work that it
/// was, since equal times are not equal work.
struct works {
    std::size_t* of_safe_points = nullptr;
    std::size_t count_max = 0;
    bool are_known = false;
};

class collected {
public:
    struct node {
        node() noexcept {
        }  // as `new` leaves the others: the references are null, data is not cleared
        cairn::ref<node> refs[field_count];
        char data[data_size];
        using references = cairn::refers_to<&node::refs>;
    };
    static_assert(sizeof(node) == 48);

    explicit collected(const extent& e, pace how = {}, works done = {})
        : heap{region_size(e, how.room)}, pace_{how}, works_{done} {
        table_ = heap.make<table>();
        if (!table_ || !table_->slots.reserve(e.slots)) std::abort();
        for (std::size_t i = 0; i != e.slots; ++i) {
            if (!table_->slots.push_back(nullptr)) std::abort();
        }
    }

    void make(unsigned r) {
        at_[r] = heap.make<node>();
        if (at_[r] == nullptr) [[unlikely]] { collect_and_make(r); }
    }
    void load(unsigned r, std::uint32_t slot) { at_[r] = table_->slots[slot]; }
    void store(std::uint32_t slot, unsigned r) { table_->slots.set(slot, at_[r]); }
    void link(unsigned r, unsigned field, unsigned q) { at_[r]->refs[field] = at_[q]; }
    void unlink(unsigned r, unsigned field) { at_[r]->refs[field] = nullptr; }
    void safe_point() {
        if (pace_.microseconds != 0) {
            step_for(pace_.microseconds);
        } else if (pace_.stops) {
            heap.step({.bytes = SIZE_MAX - 1});
        } else {
            heap.step();
        }
    }

    /// Whether make() ever had to work because memory was short.
    [[nodiscard]] bool was_short() const { return has_stopped_ || heap.stats().work_in_make != 0; }
    [[nodiscard]] node* at(unsigned r) const { return at_[r]; }

    cairn::collected_heap heap;

private:
    struct table {
        cairn::ref_array<node> slots;
        using references = cairn::refers_to<&table::slots>;
    };

    static std::size_t region_size(const extent& e, double room) {
        const std::size_t live = e.live * sizeof(node) + e.slots * sizeof(std::uint32_t);
        return live + static_cast<std::size_t>(room * static_cast<double>(live)) + 8 * 16384;
    }
    /// What a program with too small a budget does: it stops. Its locals must be roots meanwhile.
    [[gnu::noinline]] void collect_and_make(unsigned r) {
        has_stopped_ = true;
        std::vector<cairn::root<node>> locals{at_, at_ + register_count};
        heap.collect();
        at_[r] = heap.make<node>();
        if (at_[r] == nullptr) std::abort();
    }
    void step_for(std::uint32_t microseconds) {
        if (safe_points_ == works_.count_max) {
            heap.step({.microseconds = microseconds});
            return;
        }
        std::size_t& work = works_.of_safe_points[safe_points_++];
        if (works_.are_known) {
            heap.step({.bytes = std::max<std::size_t>(work, 1)});
        } else {
            work = heap.step({.microseconds = microseconds}).bytes;
        }
    }

    pace pace_;
    works works_;
    std::size_t safe_points_ = 0;
    cairn::root<table> table_;
    node* at_[register_count] = {};  // good until the next safe point; none is used after it
    bool has_stopped_ = false;
};

// ---- without a collector ------------------------------------------------------------------------

/// The object that a pointer of some kind leads to.
template <class Pointer>
[[nodiscard]] auto& node_of(const Pointer& p) {
    return *p;
}

/// What all have that keep their objects by a pointer of some kind.
template <class Pointer>
class with_pointers {
public:
    explicit with_pointers(const extent& e) : table_(e.slots) {}
    void load(unsigned r, std::uint32_t slot) { at_[r] = table_[slot]; }
    void store(std::uint32_t slot, unsigned r) { table_[slot] = at_[r]; }
    void link(unsigned r, unsigned field, unsigned q) { node_of(at_[r]).refs[field] = at_[q]; }
    void unlink(unsigned r, unsigned field) { node_of(at_[r]).refs[field] = Pointer{}; }
    void safe_point() {}

protected:
    std::vector<Pointer> table_;
    Pointer at_[register_count] = {};
};

struct plain_node {
    plain_node* refs[field_count] = {};
    char data[data_size];
};

class by_hand : public with_pointers<plain_node*> {
public:
    using with_pointers::with_pointers;
    void make(unsigned r) { at_[r] = new plain_node; }
    void end(unsigned r) { delete at_[r]; }
};

struct counted_node {
    counted_node() noexcept {}
    std::shared_ptr<counted_node> refs[field_count];
    char data[data_size];
};

class counted : public with_pointers<std::shared_ptr<counted_node>> {
public:
    using with_pointers::with_pointers;
    void make(unsigned r) { at_[r] = std::make_shared<counted_node>(); }
};

/// An object of a map that owns others of that map: the map must know its size before.
struct handle_cell {
    struct node;
    alignas(8) std::byte memory[field_count * 16 + data_size];
    handle_cell() noexcept;
    handle_cell(const handle_cell&) = delete;
    ~handle_cell();
};
using handle_store = cairn::shared_store<cairn::stable_slot_map<handle_cell>>;

struct handle_cell::node {
    handle_store::shared_type refs[field_count];
    char data[data_size];
};
static_assert(sizeof(handle_cell::node) <= sizeof(handle_cell));
inline handle_cell::handle_cell() noexcept { ::new (memory) node; }
inline handle_cell::~handle_cell() { reinterpret_cast<node*>(memory)->~node(); }

/// Its store ends after all owners.
struct has_handle_store {
    handle_store objects;
};

/// Room for a quarter more than what lives on average: a frame finds no store that grows.
class handles : has_handle_store, public with_pointers<handle_store::shared_type> {
public:
    explicit handles(const extent& e) : with_pointers{e} {
        if (!objects.reserve(e.live + e.live / 4)) std::abort();
    }
    void make(unsigned r) { at_[r] = objects.make(); }
};

[[nodiscard]] inline handle_cell::node& node_of(const handle_store::shared_type& owner) {
    return *reinterpret_cast<handle_cell::node*>(owner->memory);
}
// ---- factories ----------------------------------------------------------------------------------

/// Makes a memory: a factory of adapters, so that a collector and its pace are one contender.
template <class Memory>
struct made_by_extent {
    using memory_type = Memory;
    std::unique_ptr<Memory> operator()(const extent& e, works = {}) const {
        return std::make_unique<Memory>(e);
    }
};
struct paced {
    using memory_type = collected;
    pace how;
    std::unique_ptr<collected> operator()(const extent& e, works done = {}) const {
        return std::make_unique<collected>(e, how, done);
    }
};

}  // namespace lab::graphs
