// lab/peers/entt.hpp - EnTT's registry as a store: `--peer entt=FOLDER`, a folder with entt/entt.hpp.
#pragma once

#include <entt/entt.hpp>
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct entt {
    template <class T>
    struct store {
        using handle = ::entt::entity;
        static constexpr bool by_index = false;
        ::entt::registry all;
        std::size_t count = 0;
        explicit store(std::size_t capacity) { all.storage<T>().reserve(capacity); }
        [[gnu::always_inline]] handle insert(unsigned seed) {
            const handle made = all.create();
            all.emplace<T>(made, seed);
            ++count;
            return made;
        }
        [[gnu::always_inline]] void erase(handle which) {
            if (!all.valid(which)) { return; }
            all.destroy(which);
            --count;
        }
        T* find(handle which) { return all.valid(which) ? all.try_get<T>(which) : nullptr; }
        template <class F>
        void each(F f) {
            for (auto [which, object] : all.view<T>().each()) { f(object); }
        }
        std::size_t size() const { return count; }
    };

    template <class T>
    static void offer(kinds::stores<T>, auto visit) {
        visit.template operator()<store<T>>("EnTT registry");
    }
};

}  // namespace lab::peers
