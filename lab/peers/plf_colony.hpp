// lab/peers/plf_colony.hpp - plf::colony, a store whose elements stay where they are.
#pragma once

#include <plf_colony.h>

#include "lab/peers/kinds.hpp"
#include "lab/peers/plf_store.hpp"

namespace lab::peers {

struct plf_colony {
    template <class T>
    using store = plf_store<T, plf::colony<T>>;

    template <class T>
    static void offer(kinds::stores<T>, auto visit) {
        visit.template operator()<store<T>>("plf::colony");
    }
};

}  // namespace lab::peers
