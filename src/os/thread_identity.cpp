// Cold half of cairn/os/thread_identity.hpp: handing numbers out and taking them back.
#include <cairn/os/thread_identity.hpp>

#include <atomic>
#include <bit>

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

constexpr unsigned word_bits = 64;
constexpr unsigned word_count = thread_number_limit / word_bits;
static_assert(thread_number_limit % word_bits == 0);

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
    return thread_number_limit;
}

void raise_bound(unsigned to) noexcept {
    unsigned seen = bound.load(std::memory_order_relaxed);
    while (seen < to && !bound.compare_exchange_weak(seen, to, std::memory_order_release,
                                                     std::memory_order_relaxed)) {}
}

/// Gives the number back when the thread exits. Other thread-local objects may be destroyed after
/// this one and still ask: they find the shared number, which nobody has to give back.
struct number_keeper {
    unsigned number = thread_number_limit;
    ~number_keeper();
};

thread_local number_keeper keeper;

number_keeper::~number_keeper() {
    detail::this_thread.number_plus_one = thread_number_limit + 1;
    if (number < thread_number_limit) { give_back(number); }
}

}  // namespace

namespace detail {

unsigned assign_thread_number() noexcept {
    const unsigned number = take_lowest();
    keeper.number = number;
    if (number < thread_number_limit) { raise_bound(number + 1); }
    this_thread.number_plus_one = number + 1;
    return number;
}

std::uint64_t assign_thread_serial() noexcept {
    this_thread.serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    return this_thread.serial;
}

}  // namespace detail

unsigned thread_number_bound() noexcept { return bound.load(std::memory_order_acquire); }

}  // namespace cairn::inline CAIRN_FLAVOUR
