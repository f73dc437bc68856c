// lab/peers/plf_hive.hpp - plf::hive, by which std::hive goes: `--peer plf_hive=FOLDER`.
#pragma once

#include <plf_hive.h>

#include "lab/peers/kinds.hpp"
#include "lab/peers/plf_store.hpp"

namespace lab::peers {

struct plf_hive {
    template <class T>
    using store = plf_store<T, plf::hive<T>>;

    template <class T>
    static void offer(kinds::stores<T>, auto visit) {
        visit.template operator()<store<T>>("plf::hive");
    }
};

}  // namespace lab::peers
