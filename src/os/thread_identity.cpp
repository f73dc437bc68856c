// Cold half of cairn/os/thread_identity.hpp: handing numbers out and taking them back.
#include <cairn/os/thread_identity.hpp>

#include <atomic>
#include <bit>

#include <cairn/os/inside/thread_exit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_SHARED
constinit thread_local detail::thread_identity detail::this_thread{};
#endif

namespace {

constexpr unsigned word_bits = 64;
constexpr unsigned word_count = detail::thread_number_limit / word_bits;
static_assert(detail::thread_number_limit % word_bits == 0);

constinit std::atomic<std::uint64_t> taken[word_count]{};  // bit set: a living thread has it
constinit std::atomic<unsigned> bound{0};
constinit std::atomic<std::uint64_t> last_serial{0};

void give_back(unsigned number) noexcept {
    // release: what this thread did is visible to the next one with this number.
    taken[number / word_bits].fetch_and(~(std::uint64_t{1} << number % word_bits),
                                        std::memory_order_release);
}

unsigned take_lowest() noexcept {
    for (unsigned word = 0; word < word_count; ++word) {
        // The lowest free number at some moment of the search: a number that is freed
        // behind it serves the next thread.
        std::uint64_t seen = taken[word].load(std::memory_order_relaxed);
        while (seen != ~std::uint64_t{0}) {
            const auto bit = static_cast<unsigned>(std::countr_one(seen));
            // acquire: pairs with give_back().
            if (taken[word].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                                  std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
                return word * word_bits + bit;
            }
        }
    }
    return detail::thread_number_limit;
}

void raise_bound(unsigned to) noexcept {
    unsigned seen = bound.load(std::memory_order_relaxed);
    while (seen < to && !bound.compare_exchange_weak(seen, to, std::memory_order_release,
                                                     std::memory_order_relaxed)) {}
}

/// Gives the number back when the thread ends. What runs later in that thread, and asks, finds the
/// shared number, which goes back to no list. The argument is the number plus one, as a pointer.
constinit detail::thread_exit thread_ending{[](void* number_plus_one) noexcept {
    // First the thread forgets it, then it is free: what runs later in this thread must not use a
    // number that another one has by then.
    detail::this_thread.number_plus_one = detail::thread_number_limit + 1;
    give_back(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number_plus_one)) - 1);
}};

// Of internal linkage: the address of thread_number() itself may be that of another module's copy.
unsigned number_here() noexcept { return thread_number(); }

}  // namespace

namespace detail {

unsigned assign_thread_number() noexcept {
    unsigned number = take_lowest();
    if (number < detail::thread_number_limit) {
        // A number that would never go back is not kept: the thread shares the last one instead.
        if (thread_ending.watch(reinterpret_cast<void*>(std::uintptr_t{number} + 1))) {
            raise_bound(number + 1);
        } else {
            give_back(number);
            number = detail::thread_number_limit;
        }
    }
    this_thread.number_plus_one = number + 1;
    return number;
}

std::uint64_t assign_thread_serial() noexcept {
    // Serials of a module begin at an address that is no other module's, and so do not meet another
    // module's: an address has at most 57 bits, of which these three are zero, so 10 bits are left
    // for each address, and every module is many addresses large.
    static_assert(alignof(decltype(last_serial)) == 8);
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(&last_serial) / 8 << 10;
    this_thread.serial = base + last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    return this_thread.serial;
}

const thread_numbers numbers_of_this_module{&number_here};

}  // namespace detail

unsigned detail::thread_number_bound() noexcept { return bound.load(std::memory_order_acquire); }

}}  // namespace cairn::CAIRN_FLAVOUR
