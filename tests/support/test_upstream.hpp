// tests/support/test_upstream.hpp - malloc with a memory: what is live, and when to refuse.
//
// Every allocator under test gets its blocks from here, so "every block goes back, with the size
// and alignment it was asked with" and "failure at every point" are checked in one place. It is
// independent of cairn/debug on purpose: those wrappers are tested with it.
#pragma once

#include <cairn/core/alignment.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <map>

class test_upstream {
public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    test_upstream();
    test_upstream(const test_upstream&) = delete;
    test_upstream& operator=(const test_upstream&) = delete;

    ~test_upstream();

    void* allocate(std::size_t size, cairn::alignment align) noexcept;
    void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept;

    /// Refuses request number `first` (0-based, over the life of this object) and all after it, or
    /// only `count` of them.
    void refuse_from(std::size_t first, std::size_t count = never) {
        refuse_from_ = first;
        refuse_until_ = count == never ? never : first + count;
    }
    void refuse_nothing() { refuse_from_ = refuse_until_ = never; }
    void limit_size(std::size_t bytes) { byte_limit_ = bytes; }
    /// Refuses single requests of more than `bytes`.
    void refuse_larger(std::size_t bytes) { largest_ = bytes; }

    std::size_t request_count() const { return request_count_; }
    std::size_t live_count() const { return live_.size(); }
    std::size_t live_size() const { return live_size_; }
    std::size_t peak_size() const { return peak_size_; }

private:
    struct block {
        void* base;
        std::size_t size;
        cairn::alignment align;
    };
    std::map<std::byte*, block> live_;
    std::size_t request_count_ = 0;
    std::size_t live_size_ = 0;
    std::size_t peak_size_ = 0;
    std::size_t byte_limit_ = never;
    std::size_t largest_ = never;
    std::size_t refuse_from_ = never;
    std::size_t refuse_until_ = never;
};
