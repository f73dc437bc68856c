// lab/peers/plf_colony.hpp - plf::colony, a store whose elements stay where they are.
#pragma once

#include <plf_colony.h>

#include <cstddef>

namespace lab::peers {

struct plf_colony {
    template <class T>
    struct store {
        using handle = typename plf::colony<T>::iterator;
        static constexpr bool by_index = false;
        plf::colony<T> all;
        explicit store(std::size_t capacity) { all.reserve(capacity); }
        [[gnu::always_inline]] handle insert(unsigned seed) { return all.emplace(seed); }
        [[gnu::always_inline]] void erase(handle where) { all.erase(where); }
        template <class F>
        void each(F f) {
            for (T& t : all) { f(t); }
        }
        std::size_t size() const { return all.size(); }
    };

    template <class T, class Offer>
    static void offer_stores(Offer offer) {
        offer.template operator()<store<T>>("plf::colony");
    }
};

}  // namespace lab::peers
