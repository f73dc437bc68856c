// lab/experiments/double-buffer.cpp - one frame is written while the one before is read.
//
//      game thread     writes commands of frame n      [draw][light][draw]...
//      render thread   reads those of frame n - 1, and is done with them when the frames swap
//
// 1000 commands of 16 to 128 bytes a frame, linked in the order of writing. What differs is where a
// command's memory comes from and who gives it back: frame_arena forgets the frame when it swaps;
// malloc and the pools are given every command back by the render thread.
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool.hpp>

#include <atomic>
#include <mutex>
#include <thread>

#include "lab/families/pool_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/word.hpp"

namespace {

constexpr std::size_t commands = 1000;
constexpr std::size_t largest = 128;

struct command {
    command* next;
    std::uint32_t size;
    std::uint32_t kind;
};

const std::vector<std::uint32_t>& sizes() {
    static const std::vector<std::uint32_t> all = [] {
        std::vector<std::uint32_t> v = lab::random_indices(commands, 15, 11);
        for (auto& s : v) s = 16 + 8 * s;
        return v;
    }();
    return all;
}

// ---- where commands live -----------------------------------------------------------------------

/// What gives nothing back, and does nothing when frames swap.
struct keeps_all {
    void give(void*, std::uint32_t) {}
    void swap() {}
};
struct in_frame_arena : keeps_all {
    cairn::frame_arena<2> frames{std::size_t{1} << 18};
    void* take(std::uint32_t size) { return frames.allocate(size, cairn::alignment{8}); }
    void swap() { frames.swap(); }  // forgets what the render thread has just finished reading
};
struct in_malloc : keeps_all {
    void* take(std::uint32_t size) { return std::malloc(size); }
    void give(void* p, std::uint32_t) { std::free(p); }
};
struct in_locked_pool : keeps_all {
    cairn::locked<cairn::pool> slots{largest};
    void* take(std::uint32_t) { return slots.allocate(largest, cairn::alignment{8}); }
    void give(void* p, std::uint32_t) { slots.deallocate(p, largest, cairn::alignment{8}); }
};
/// fast-alloc's thread-safe pool: a free list through the slots, behind std::mutex.
struct in_mutex_pool : keeps_all {
    lab::slots::intrusive_list<largest> slots{4 * commands};
    std::mutex mutex;
    void* take(std::uint32_t) {
        const std::scoped_lock held{mutex};
        return slots.allocate();
    }
    void give(void* p, std::uint32_t) {
        const std::scoped_lock held{mutex};
        slots.deallocate(p);
    }
};
/// Written by one, given back in order by the other: the floor, while all order is kept.
struct in_ring : keeps_all {
    std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{1} << 19);
    std::size_t write = 0;
    void* take(std::uint32_t size) {
        if (write + size > memory.size()) write = 0;
        void* const p = memory.data() + write;
        write += size;
        return p;
    }
};

// ---- the two threads ---------------------------------------------------------------------------

template <class Memory>
class game {
public:
    game() : render_{[this] { render(); }} { lab::pin_this_thread(0); }
    game(const game&) = delete;
    game& operator=(const game&) = delete;
    ~game() {
        handed_.store(~0u, std::memory_order_release);
        lab::wake_one(handed_);
        render_.join();
    }

    void operator()(lab::sample& s) {
        const std::vector<std::uint32_t>& all = sizes();
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            command* first = nullptr;
            command** end = &first;
            std::uint32_t kind = 0;
            for (const std::uint32_t size : all) {
                auto* const c = static_cast<command*>(memory_.take(size));
                std::memset(static_cast<void*>(c), static_cast<int>(kind), size);
                c->size = size;
                c->kind = ++kind;
                *end = c;
                end = &c->next;
            }
            *end = nullptr;
            wait(read_, frame_);  // the render thread is done with the frame before
            memory_.swap();
            next_ = first;
            ++frame_;
            handed_.store(frame_, std::memory_order_release);
            lab::wake_one(handed_);
        }
        wait(read_, frame_);  // and with the last one: sum_ is its own until then
        s.checksum(sum_);
        s.did(s.repetitions() * commands);
    }

private:
    static void wait(std::atomic<std::uint32_t>& counter, std::uint32_t until) {
        for (std::uint32_t now; (now = counter.load(std::memory_order_acquire)) != until;)
            lab::sleep_while(counter, now);
    }
    void render() {
        lab::pin_this_thread(1);
        for (std::uint32_t frame = 0;;) {
            std::uint32_t handed;
            while ((handed = handed_.load(std::memory_order_acquire)) == frame) {
                lab::sleep_while(handed_, frame);
            }
            if (handed == ~0u) return;
            std::uint64_t sum = 0;
            for (command* c = next_; c != nullptr;) {
                command* const after = c->next;
                sum += c->kind +
                       static_cast<unsigned char>(reinterpret_cast<std::byte*>(c)[c->size - 1]);
                memory_.give(c, c->size);
                c = after;
            }
            sum_ = sum;
            read_.store(++frame, std::memory_order_release);
            lab::wake_one(read_);
        }
    }

    Memory memory_;
    command* next_ = nullptr;
    std::uint64_t sum_ = 0;
    std::uint32_t frame_ = 0;
    alignas(64) std::atomic<std::uint32_t> handed_{0};
    alignas(64) std::atomic<std::uint32_t> read_{0};
    std::thread render_;
};

const lab::registration double_buffer{
    "double-buffer", "What does a queue of commands between a game and a render thread cost?",
    [](lab::experiment& e) {
        e.quick_seconds = 6;
        e.how =
            "The game thread's time for each command, waiting for the render thread included: a "
            "frame is as long as the slower of the two.";
        lab::comparison& c =
            e.compare("1000 commands a frame", {.unit = "ns/command", .unpinned = true});
        c.cairn("cairn::frame_arena<2>", lab::made<game<in_frame_arena>>());
        c.cairn("cairn::locked<cairn::pool>", lab::made<game<in_locked_pool>>());
        c.limit("ring, given back in order", lab::made<game<in_ring>>());
        c.baseline("pool behind a std::mutex", lab::made<game<in_mutex_pool>>())
            .note("fast-alloc's thread-safe pool, rebuilt");
        c.mallocs(lab::made<game<in_malloc>>());
    }};

}  // namespace
