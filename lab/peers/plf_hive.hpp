// lab/peers/plf_hive.hpp - plf::hive, by which std::hive goes: `--peer plf_hive=FOLDER`.
#pragma once

#include <plf_hive.h>

#include <cstddef>

namespace lab::peers {

struct plf_hive {
    template <class T>
    struct store {
        using handle = typename plf::hive<T>::iterator;
        static constexpr bool by_index = false;
        plf::hive<T> all;
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
        offer.template operator()<store<T>>("plf::hive");
    }
};

}  // namespace lab::peers
