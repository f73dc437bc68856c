// A container calls a function of the user, and that function does something to the container:
// each pair is a cell of the table in docs/containers.md, "Callbacks that come back".
//
//      cell{"erase", call::destructor}  x  act::insert     ->  works | stops
//
// A cell runs aside (expect_broken_promise.hpp): it builds its container, lets it call, acts once
// in the call, and checks that everything is whole. What must stop is run in checked builds only.
#pragma once

#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace callback_tests {

/// A function of the user that a container calls.
enum class call {
    none,
    constructor,
    copy,
    move,
    destructor,
    equal,
    less,
    predicate,
    visitor,
    acquired,
    released,
    allocate,  // of the upstream
    deallocate
};

/// Ends the cell: something is not as it should be.
[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "callbacks: %s\n", what);
    std::abort();
}
inline void check(bool is_true, const char* what) {
    if (!is_true) { fail(what); }
}

/// What the first call of a kind does.
class script {
public:
    template <class Act>
    script(call when, const Act& act) noexcept
        : when_{when}, act_{&act}, run_{[](const void* a) { (*static_cast<const Act*>(a))(); }} {
        now = this;
    }
    script(const script&) = delete;
    ~script() { now = nullptr; }
    [[nodiscard]] bool has_run() const noexcept { return has_run_; }

    /// After a cell that left its script behind: on Windows cells run in one process.
    static void forget() noexcept { now = nullptr; }

    /// The object whose function it is.
    static inline const void* object = nullptr;

    /// What f() calls does nothing.
    template <class F>
    static void pause(F f) {
        script* const s = std::exchange(now, nullptr);
        f();
        now = s;
    }
    static void called(call which, const void* of = nullptr) {
        script* const s = now;
        if (s == nullptr || s->when_ != which || s->has_run_) { return; }
        s->has_run_ = true;
        object = of;
        s->run_(s->act_);
    }

private:
    static inline script* now = nullptr;
    call when_;
    bool has_run_ = false;
    const void* act_;
    void (*run_)(const void*);
};

/// An upstream that tells of its calls.
struct told_memory {
    static void* allocate(std::size_t size, cairn::alignment align) noexcept {
        script::called(call::allocate);
        void* const p = cairn::system_memory().allocate(size, align);
        if (p != nullptr) { held += size; }
        return p;
    }
    static void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
        std::memset(p, 0xdd, size);  // what is read in the call reads no object
        script::called(call::deallocate);
        cairn::system_memory().deallocate(p, size, align);
        held -= size;
    }

    static inline std::atomic<std::size_t> held{0};  // bytes
};

/// An object that tells of its calls and is known to be whole.
class probe {
public:
    static inline std::atomic<int> alive{0};  // threads of prewarm() build some

    explicit probe(int v) : value{v} {
        script::called(call::constructor, this);
        ++alive;
    }
    probe(const probe& other) : value{other.value} {
        script::called(call::copy, this);
        ++alive;
    }
    probe(probe&& other) noexcept : value{other.value} {
        script::called(call::move, this);
        ++alive;
    }
    probe& operator=(probe&& other) noexcept {
        value = other.value;
        script::called(call::move, this);
        return *this;
    }
    probe& operator=(const probe& other) {
        value = other.value;
        script::called(call::copy, this);
        return *this;
    }
    ~probe() {
        check(value > 0, "an object is destroyed once");
        script::called(call::destructor, this);
        --alive;
        value = -value;
    }
    void on_exit_free_list() { script::called(call::acquired, this); }
    void on_enter_free_list() { script::called(call::released, this); }
    friend bool operator==(const probe& a, const probe& b) {
        script::called(call::equal);
        return a.value == b.value;
    }
    [[nodiscard]] bool is_whole() const noexcept { return value > 0; }

    int value;
};

/// Whether a cell does what it should. `run()` is called aside.
template <class Run>
void expect(const char* container, const char* cause, const char* act, bool works, Run run) {
    // A sentence comes before anything happens: nothing is there that a sanitizer could see.
    if (!works && (!cairn::asserts_enabled || cairn::detail::poison_is_queryable)) { return; }
    const auto caught = cairn::expect_broken_promise(run);
    // A cell that stops leaves its objects; on Windows the next one runs in the same process.
    script::forget();
    probe::alive = 0;
    told_memory::held = 0;
    EXPECT_FALSE(caught.died()) << container << ", " << cause << ", " << act << ": "
                                << caught.text();
    EXPECT_EQ(static_cast<bool>(caught), !works)
        << container << ", " << cause << ", " << act << ": " << caught.text();
}

}  // namespace callback_tests
