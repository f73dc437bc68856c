// lab/peers/plf_colony.hpp - plf::colony, a store whose elements stay where they are.
#pragma once

#include <plf_colony.h>

#include "lab/peers/plf_store.hpp"

namespace lab::peers {

struct plf_colony {
    template <class T>
    using store = plf_store<T, plf::colony<T>>;

    template <class T, class Offer>
    static void offer_stores(Offer offer) {
        offer.template operator()<store<T>>("plf::colony");
    }
};

}  // namespace lab::peers
