// lab/peers/plf_hive.hpp - plf::hive, by which std::hive goes: `--peer plf_hive=FOLDER`.
#pragma once

#include <plf_hive.h>

#include "lab/peers/plf_store.hpp"

namespace lab::peers {

struct plf_hive {
    template <class T>
    using store = plf_store<T, plf::hive<T>>;

    template <class T, class Offer>
    static void offer_stores(Offer offer) {
        offer.template operator()<store<T>>("plf::hive");
    }
};

}  // namespace lab::peers
