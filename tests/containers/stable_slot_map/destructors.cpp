// Sentences of cairn/containers/stable_slot_map.hpp about constructors and destructors that use the
// map.
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/core/handle.hpp>
#include <gtest/gtest.h>

#include <memory>

using namespace cairn;

namespace {
/// Brings a child into the map that it is in, and takes it away again; may leave another one there.
struct family {
    using map_type = stable_slot_map<family>;
    static inline int ended = 0;
    static inline bool leave_one = false;
    map_type* map;
    handle<family> self;
    handle<family> child{};
    family(map_type& m, handle<family> own, int descendants, bool throws = false)
        : map{&m}, self{own} {
        EXPECT_FALSE(m.contains(own)) << "nobody finds what is not there yet";
        if (descendants != 0) { child = start(m, descendants - 1); }
#if defined(__cpp_exceptions)
        if (throws) { throw 13; }
#else
        (void)throws;
#endif
    }
    family(const family&) = delete;
    ~family() {
        ++ended;
        EXPECT_FALSE(map->contains(self)) << "nobody finds what is no more";
        EXPECT_FALSE(map->erase(self));
        map->erase(child);
        if (leave_one) { start(*map, 0); }
    }
    static handle<family> start(map_type& m, int descendants, bool throws = false) {
        return m.emplace_with([&](auto h) { return family{m, h, descendants, throws}; });
    }
};
}  // namespace

TEST(stable_slot_map, constructors_and_destructors_may_re_enter) {
    family::ended = 0;
    stable_slot_map<family> map;
    const auto eve = family::start(map, 10);
    EXPECT_EQ(map.size(), 11u);
    map.validate();
    for (int i = 0; i < 200; ++i) { EXPECT_TRUE(family::start(map, 0)); }  // the hand runs out
    EXPECT_TRUE(family::start(map, 100)) << "and in the middle of a constructor too";
    map.validate();
    const std::size_t before = map.size();
    family::leave_one = true;
    EXPECT_TRUE(map.erase(eve));
    family::leave_one = false;
    EXPECT_EQ(family::ended, 11);
    EXPECT_EQ(map.size(), before) << "eleven went, and each left one";
    map.validate();
#if defined(__cpp_exceptions)
    EXPECT_THROW(family::start(map, 3, true), int);
    EXPECT_EQ(map.size(), before + 3) << "the parent is not there, its children are";
    map.validate();
#endif
    EXPECT_TRUE(map.shrink_to_fit());  // lets go of the slots in hand
    map.validate();
    EXPECT_TRUE(family::start(map, 0));
    map.validate();
    map.clear();
    EXPECT_EQ(map.size(), 0u);
    map.validate();
}

namespace {
/// Its destructor does something to the map that it was in.
struct last_wish {
    using map_type = stable_slot_map<last_wish>;
    static inline map_type* map = nullptr;
    static inline int alive = 0;
    static inline int wishes = 0;
    enum kind { insert, retire, collect };
    kind wish;
    explicit last_wish(kind k) : wish{k} { ++alive; }
    last_wish(const last_wish&) = delete;
    ~last_wish() {
        --alive;
        if (wishes == 0) { return; }
        --wishes;
        if (wish == insert) { (void)map->emplace(insert); }
        if (wish == retire) { EXPECT_TRUE(map->retire(map->emplace(retire), 3)); }
        if (wish == collect) { map->collect(9); }
    }
};
}  // namespace

TEST(stable_slot_map, ends_with_everybody_whom_destructors_have_left_behind) {
    for (const auto wish : {last_wish::insert, last_wish::retire}) {
        for (const bool retired : {false, true}) {
            auto map = std::make_unique<last_wish::map_type>();
            last_wish::map = map.get();
            last_wish::wishes = 0;
            const auto h = map->emplace(wish);
            if (retired) { ASSERT_TRUE(map->retire(h, 1)); }
            last_wish::wishes = 5;
            map.reset();
            EXPECT_EQ(last_wish::wishes, 0);
            EXPECT_EQ(last_wish::alive, 0);
        }
    }
}

TEST(stable_slot_map, collect_destroys_each_once_when_destructors_collect) {
    last_wish::map_type map;
    last_wish::map = &map;
    last_wish::wishes = 0;
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(map.retire(map.emplace(last_wish::collect), 1)); }
    last_wish::wishes = 10;
    map.collect(1);
    EXPECT_EQ(last_wish::alive, 0);
    EXPECT_EQ(map.pending_count(), 0u);
    EXPECT_EQ(last_wish::wishes, 0);
    last_wish::wishes = 0;
    map.validate();
}
