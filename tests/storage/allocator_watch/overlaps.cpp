// Sentences of cairn/storage/allocator_watch.hpp about two threads of which neither saw the other
// come in: the one that leaves a short way, or finds it taken, names them.
//
// Such a way is a few instructions, so the other thread is played: by what it would have written,
// while this one stands still in the middle.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "support/sanitizers.hpp"

#if defined(__linux__)
#    include <csignal>

#    include <sys/mman.h>
#    include <ucontext.h>

#    include "support/forking.hpp"
#endif

using namespace cairn;

#if CAIRN_ASSERTS
namespace {

constexpr const char* named = "one thread at a time uses an allocator";

/// An arena of one region, in whose hot path a thread can be left standing.
class held_arena : public detail::bump_arena<held_arena> {
    friend class detail::bump_arena<held_arena>;

public:
    static constexpr const char* type_name = "held_arena";

    held_arena(void* memory, std::size_t size) noexcept : region_{memory, size} { region_.open(); }

    [[nodiscard]] void* allocate(std::size_t size) noexcept {
        void* block = nullptr;
        if (region_.allocate_alone(size, default_alignment, block)) { return block; }
        const auto inside = enter();
        return region_.allocate(size, default_alignment);
    }
    void stop_in_the_hot_path() noexcept { region_.stop(); }
    /// Where a thread has begun the hot path, another one ends its own. Returns: whether it did.
    bool end_the_hot_path_of_another() noexcept { return region_.end_another(); }

private:
    struct held_region : detail::bump_region {
        using bump_region::bump_region;
        void stop() noexcept { (void)take(end_ + 1); }
        bool end_another() noexcept {
            if (top_.now() % 2 == 0) { return false; }
            top_.set_now(begin_ + 16);
            return true;
        }
    };
    held_region region_;
};

TEST(two_threads_at_once, are_named_by_the_one_that_finds_the_other_in_the_hot_path_of_an_arena) {
    if (checker_is_faster()) { GTEST_SKIP() << "the hot path is shut"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    alignas(16) std::byte memory[1024];
    held_arena arena{memory, sizeof memory};
    void* const first = arena.allocate(16);
    ASSERT_NE(first, nullptr);
    const auto marked = arena.mark();
    ASSERT_NE(arena.allocate(16), nullptr);
    arena.deallocate(first, 16);  // not the last one: it goes the guarded way, and may
    arena.stop_in_the_hot_path();
    EXPECT_DEATH(arena.deallocate(first, 16), named);
    EXPECT_DEATH(arena.rewind(marked), named);
}

#    if defined(__linux__) && defined(__x86_64__)

held_arena* shared = nullptr;

/// After each instruction of the thread under test.
void let_another_end(int, siginfo_t*, void* context) {
    if (shared->end_the_hot_path_of_another()) {
        static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    }
}

TEST(two_threads_at_once, are_named_when_both_begin_the_hot_path_of_an_arena_in_one_instant) {
    if (checker_is_faster() || under_tsan) { GTEST_SKIP() << "they keep signals to themselves"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    alignas(16) std::byte memory[1024];
    held_arena arena{memory, sizeof memory};
    shared = &arena;
    const auto scope = detail::mark_access::open_scope(arena);
    void* const first = arena.allocate(16);
    ASSERT_NE(first, nullptr);
    void* const last = arena.allocate(16);
    ASSERT_NE(last, nullptr);
    const auto beside_another = [](auto operation) {
        struct sigaction stepping_on = {};
        stepping_on.sa_sigaction = let_another_end;
        stepping_on.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &stepping_on, nullptr);
        stepping::trap_flag(true);
        operation();
        stepping::trap_flag(false);
    };
    EXPECT_DEATH(beside_another([&] { (void)arena.allocate(16); }), named);
    EXPECT_DEATH(beside_another([&] { arena.deallocate(last, 16); }), named);
    EXPECT_DEATH(beside_another([&] { detail::mark_access::close_scope(arena, scope); }), named);
    arena.deallocate(last, 16);
    EXPECT_EQ(arena.allocate(16), last);
    detail::mark_access::close_scope(arena, scope);
    EXPECT_EQ(arena.allocate(16), first);
}

#    endif

}  // namespace
#endif
