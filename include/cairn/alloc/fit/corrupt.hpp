// cairn/alloc/fit/corrupt.hpp - the last word of a heap that finds its own words changed.
//
// A heap keeps headers and links in memory that its users write to. What contradicts itself there
// is the trace of an overrun, of a write after a free, or of a second free; to go on would spread
// it. So the checks that cost next to nothing are made in every build, and end here: one sentence
// through the assert handler, then abort. Checked builds look more closely (CAIRN_ASSERT), and say
// more.
//
// See docs/hardening.md for what is noticed and what is not, decision 0067 for why the program
// ends.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Calls the assert handler with `sentence`, in unchecked builds too, then aborts. Takes no memory.
/// `memory`: an address in front of the blocks of the region that is corrupt, for the report.
[[noreturn, gnu::cold, gnu::noinline]] void heap_is_corrupt(const char* sentence,
                                                            const void* memory) noexcept;

/// What should have been true. Arrays, which have one address in the program: kinds go by it.
struct heap_promise {
    static constexpr char waiting[] =
        "a block that waits is as the heap wrote it: nothing overran it, and nothing wrote into it "
        "after it was freed";
    static constexpr char links[] =
        "a free block is as the heap wrote it: nothing wrote into it after it was freed";
    static constexpr char free_header[] =
        "a free block is as the heap wrote it: nothing overran it";
    static constexpr char header[] = "a block's header is as the heap wrote it: nothing overran it";
    static constexpr char freed_once[] = "a block is freed once";
    static constexpr char freed_here[] = "a block is freed to the heap it came from";
    static constexpr char freed_size[] = "a block is freed with the size that it was asked with";
    static constexpr char stretch[] = "a stretch's maximum is the size of one of its blocks";
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
