// lab/peers/plf_store.hpp - a container of plf as a store whose elements stay where they are.
#pragma once

#include <cstddef>

namespace lab::peers {

template <class T, class Container>
struct plf_store {
    using handle = typename Container::iterator;
    static constexpr bool by_index = false;
    Container all;
    explicit plf_store(std::size_t capacity) { all.reserve(capacity); }
    [[gnu::always_inline]] handle insert(unsigned seed) { return all.emplace(seed); }
    [[gnu::always_inline]] void erase(handle where) { all.erase(where); }
    template <class F>
    void each(F f) {
        for (T& t : all) { f(t); }
    }
    std::size_t size() const { return all.size(); }
};

}  // namespace lab::peers
