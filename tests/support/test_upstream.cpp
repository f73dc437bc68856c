#include <support/test_upstream.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>

test_upstream::test_upstream() = default;

test_upstream::~test_upstream() {
    EXPECT_EQ(live_.size(), 0u) << "every block goes back to the upstream";
    for (auto& [p, b] : live_) { std::free(b.base); }
}

void* test_upstream::allocate(std::size_t size, cairn::alignment align) noexcept {
    const std::size_t number = request_count_++;
    if (number >= refuse_from_ && number < refuse_until_) { return nullptr; }
    if (size > byte_limit_ - live_size_ || size > largest_) { return nullptr; }
    if (size > PTRDIFF_MAX - align.bytes()) { return nullptr; }
    void* const base = std::malloc(size + align.bytes());
    if (base == nullptr) { return nullptr; }
    auto* p = static_cast<std::byte*>(base);
    p += cairn::detail::padding_to(reinterpret_cast<std::uintptr_t>(p), align);
    std::memset(p, 0xA5, size);  // fresh memory is not zero
    live_.emplace(p, block{base, size, align});
    live_size_ += size;
    peak_size_ = live_size_ > peak_size_ ? live_size_ : peak_size_;
    return p;
}

void test_upstream::deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
    const auto found = live_.find(static_cast<std::byte*>(p));
    if (found == live_.end()) {
        ADD_FAILURE() << "a block that is not live came back to the upstream";
        return;
    }
    EXPECT_EQ(found->second.size, size) << "a block goes back with the size it was asked with";
    EXPECT_EQ(found->second.align, align) << "and with the alignment";
    live_size_ -= found->second.size;
    std::free(found->second.base);
    live_.erase(found);
}
