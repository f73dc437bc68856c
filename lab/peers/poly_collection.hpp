// lab/peers/poly_collection.hpp - boost::base_collection: objects of several types, in segments by
// type.
#pragma once

#include <boost/poly_collection/algorithm.hpp>
#include <boost/poly_collection/base_collection.hpp>
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct poly_collection {
    template <class Base>
    struct polymorphic_store {
        ::boost::base_collection<Base> all;
        template <class T>
        void emplace() {
            all.insert(T{});
        }
        template <class F>
        void each(F f) {
            ::boost::poly_collection::for_each(all.begin(), all.end(), f);
        }
        template <class... Types, class F>
        void each_named(F f) {
            ::boost::poly_collection::for_each<Types...>(all.begin(), all.end(), f);
        }
    };

    template <class Base>
    static void offer(kinds::polymorphic_stores<Base>, auto visit) {
        visit.template operator()<polymorphic_store<Base>>("boost::base_collection");
    }
};

}  // namespace lab::peers
