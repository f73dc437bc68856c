// lab/peers/poly_collection.hpp - boost::base_collection: objects of several types, in segments by
// type.
#pragma once

#include <boost/poly_collection/algorithm.hpp>
#include <boost/poly_collection/base_collection.hpp>

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

    template <class Base, class Offer>
    static void offer_polymorphic_stores(Offer offer) {
        offer.template operator()<polymorphic_store<Base>>("boost::base_collection");
    }
};

}  // namespace lab::peers
