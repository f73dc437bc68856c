// tests/support/explorer.hpp - runs a few threads in every order that matters, with every stale
// value they may see.
//
//      explorer::result r = explorer::explore({.threads = 2}, [] {
//          auto state = std::make_shared<my_state>();               // fresh for every execution
//          return explorer::program{
//              .thread = [state](int id) { ... state->head.load(memory_order::acquire) ... },
//              .at_end = [state] { explorer::require(..., "nothing was lost"); }};
//      });
//
// Each execution is a list of decisions: which thread runs next (asked before every atomic
// operation) and which store a load reads. The explorer repeats the program depth first until the
// list of lists is exhausted, so a pass is a proof within its bounds, and a failure replays.
//
// The memory model. Each atomic keeps all its stores. A load may read any store that is not older
// than
//   - the newest one that happened before it,
//   - what this thread, or a thread that happened before it, has already read or written there.
// An acquire load that reads a release store (or a read-modify-write in its release sequence) joins
// the storing thread's clock. A read-modify-write reads the newest store. A failed compare-exchange
// may fail with a stale value, and a weak one for no reason at all. `plain` data checks that each
// access happens after the last conflicting one: a data race is a failure. Left out: stores that enter
// the modification order before stores already executed, fences between threads, and seq_cst (it
// counts as acq_rel). cairn's code uses neither of the last two. (Its signal fences are for a child of
// a fork, for which alloc/concurrent_pool_fork_test.cpp stops at every instruction.)
//
// A store is seen in the end: a thread that has read one and the same older store eight times in a row
// reads the newest next. So a loop that waits for a relaxed load ends, as it does on every machine.
//
// Bounds: preemptions (a thread is stopped although it could go on, or its weak exchange fails for no
// reason); 2 finds almost everything.
// Threads run as fibres on one system thread: about a million steps a second.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <cairn/core/inside/atomic.hpp>

namespace explorer {

using cairn::detail::memory_order;

inline constexpr int threads_max = 4;

struct options {
    int threads = 2;
    int preemptions = 2;                      // per execution
    std::uint64_t execution_limit = 150'000;  // give up (not exhausted) after so many
};

struct program {
    std::function<void(int)> thread;  // called once for each thread, with 0, 1, ..
    std::function<void()> at_end;     // after all have been joined
};

struct result {
    bool failed = false;
    bool exhausted = false;  // every execution within the bounds was seen
    std::uint64_t executions = 0;
    std::string message;  // what failed, with the schedule that led there
};

/// Runs `make()`'s program in every way until one fails or all have been seen.
result explore(const options& o, const std::function<program()>& make);

/// True when one of them failed; prints how soon, and why, of the first that did.
bool any_failed(std::initializer_list<result> results);

/// Within a program: what must be true. Ends this exploration as failed when it is not.
void require(bool condition, const char* what);

// ------------------------------------------------------------------------------------------------
// the model: what atomics and plain data are made of

namespace detail {

/// How far each thread has come, as far as somebody knows. One more entry: the thread that sets up
/// and checks at the end.
struct clock {
    std::uint32_t at[threads_max + 1] = {};
    void join(const clock& other) {
        for (int i = 0; i <= threads_max; ++i) {
            at[i] = at[i] < other.at[i] ? other.at[i] : at[i];
        }
    }
};

int running();                            // id of the thread that runs now
clock& now();                             // its clock
std::uint32_t tick();                     // a new event of it; returns its time
void decide_who_runs();                   // a scheduling point
int decide(int count, const char* what);  // 0 .. count-1
bool fails_for_no_reason();               // does a weak exchange?
bool wait_for(const void* what);          // others run until somebody wakes those who wait for it
void wake(const void* what);

inline bool is_acquire(memory_order o) {
    return o == memory_order::acquire || o == memory_order::acq_rel || o == memory_order::seq_cst;
}
inline bool is_release(memory_order o) {
    return o == memory_order::release || o == memory_order::acq_rel || o == memory_order::seq_cst;
}

/// The part of an atomic that does not know its type: which thread has seen which store.
class history {
public:
    history();
    /// Index of the oldest store that the running thread may still read.
    [[nodiscard]] std::size_t oldest_readable() const;
    void note_read(std::size_t index, memory_order order);
    void note_store(memory_order order, bool extends_release_sequence);
    [[nodiscard]] std::size_t newest() const { return stores_.size() - 1; }
    /// Has the running thread read the same older store too often in a row?
    [[nodiscard]] bool is_stuck() const;

private:
    struct store {
        int thread;
        std::uint32_t time;
        clock release;  // what an acquire load that reads this store learns
    };
    struct sighting {  // a thread saw store `index` at `time`
        std::uint32_t time;
        std::size_t index;
    };
    std::vector<store> stores_;
    struct last_read {
        std::size_t index = 0;
        unsigned repeated = 0;
    };
    std::vector<sighting> seen_[threads_max + 1];
    last_read last_[threads_max + 1];
};

}  // namespace detail

template <class T>
class atomic {
public:
    atomic() : atomic(T{}) {}
    explicit atomic(T value) : values_{value} {}
    atomic(const atomic&) = delete;

    T load(memory_order order) const {
        detail::decide_who_runs();
        const std::size_t oldest =
            history_.is_stuck() ? history_.newest() : history_.oldest_readable();
        const auto age = static_cast<std::size_t>(
            detail::decide(static_cast<int>(history_.newest() - oldest) + 1, "a load reads"));
        const std::size_t index = history_.newest() - age;
        history_.note_read(index, order);
        return values_[index];
    }

    void store(T value, memory_order order) {
        detail::decide_who_runs();
        append(value, order, false);
    }

    T exchange(T value, memory_order order) {
        return modify([value](T) { return value; }, order);
    }
    T fetch_add(T value, memory_order order) {
        return modify([value](T old) { return static_cast<T>(old + value); }, order);
    }

    T fetch_sub(T value, memory_order order) {
        return modify([value](T old) { return static_cast<T>(old - value); }, order);
    }

    T fetch_or(T bits, memory_order order) {
        return modify([bits](T old) { return static_cast<T>(old | bits); }, order);
    }

    bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure) {
        return compare_exchange(expected, desired, success, failure, true);
    }
    bool compare_exchange_strong(T& expected, T desired, memory_order success,
                                 memory_order failure) {
        return compare_exchange(expected, desired, success, failure, false);
    }

private:
    bool compare_exchange(T& expected, T desired, memory_order success, memory_order failure,
                          bool is_weak) {
        detail::decide_who_runs();
        const std::size_t newest = history_.newest();
        const bool is_equal = values_[newest] == expected;
        if (is_equal && !(is_weak && detail::fails_for_no_reason())) {
            history_.note_read(newest, success);
            append(desired, success, true);
            return true;
        }
        std::size_t oldest = history_.oldest_readable();
        std::vector<std::size_t> readable;
        for (std::size_t i = newest + 1; i-- > oldest;) {
            if (is_equal || !(values_[i] == expected)) { readable.push_back(i); }
        }
        const std::size_t index = readable[static_cast<std::size_t>(
            detail::decide(static_cast<int>(readable.size()), "a failed exchange reads"))];
        history_.note_read(index, failure);
        expected = values_[index];
        return false;
    }
    template <class F>
    T modify(F&& f, memory_order order) {
        detail::decide_who_runs();
        const T old = values_[history_.newest()];
        history_.note_read(history_.newest(), order);
        append(f(old), order, true);
        return old;
    }
    void append(T value, memory_order order, bool extends_release_sequence) {
        values_.push_back(value);
        history_.note_store(order, extends_release_sequence);
    }

    std::vector<T> values_;  // in modification order
    mutable detail::history history_;
};

/// Data that is not atomic: unordered accesses to it are a failure.
template <class T>
class plain {
public:
    plain() = default;
    plain(T value) { *this = value; }
    plain(const plain&) = delete;
    plain& operator=(const plain& other) { return *this = static_cast<T>(other); }

    operator T() const {
        require(writer_time_ <= detail::now().at[writer_], "data race: read of unordered write");
        reader_time_[detail::running()] = detail::tick();
        return value_;
    }
    plain& operator=(T value) {
        bool ordered = writer_time_ <= detail::now().at[writer_];
        for (int t = 0; t <= threads_max; ++t) {
            ordered = ordered && reader_time_[t] <= detail::now().at[t];
        }
        require(ordered, "data race: unordered write");
        value_ = value;
        writer_ = detail::running();
        writer_time_ = detail::tick();
        return *this;
    }

private:
    T value_{};
    int writer_ = threads_max;
    std::uint32_t writer_time_ = 0;
    mutable std::uint32_t reader_time_[threads_max + 1] = {};
};

/// A lock: a thread that finds it held waits, without a preemption being counted. All waiting is a failure.
class mutex {
public:
    void lock() {
        detail::decide_who_runs();
        while (held_ && detail::wait_for(this)) {}
        held_ = true;
        detail::now().join(released_);
    }
    void unlock() {
        released_ = detail::now();
        (void)detail::tick();
        held_ = false;
        detail::wake(this);
    }

private:
    bool held_ = false;
    detail::clock released_;  // what the next holder learns
};

/// What code under test takes its atomics and data from; cairn::std_atoms is the real one.
struct atoms {
    template <class T>
    using atomic = explorer::atomic<T>;
    template <class T>
    using plain = explorer::plain<T>;
};

}  // namespace explorer
