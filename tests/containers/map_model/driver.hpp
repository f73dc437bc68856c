// tests/containers/map_model/driver.hpp - one random operation after another, each checked.
//
// The model keeps every live object's value and a sample of handles of every age. After each step
// one live handle must find its value and one dead handle must find nothing.
#pragma once

#include <cairn/storage/inside/slot_directory.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "containers/map_model/values.hpp"

namespace map_model {

template <class Map>
class driver {
public:
    using handle = typename Map::handle_type;
    using made = maker<typename Map::value_type>;

    driver(Map& map, std::uint32_t seed) : map_{map}, random_{seed} {}

    /// `wave` steers the size: grows for a while, shrinks for a while.
    void run(std::size_t op_count, std::size_t size_target, std::size_t validate_every) {
        for (std::size_t op = 0; op < op_count; ++op) {
            if (op % (4 * size_target + 1) == 0) { growing_ = !growing_; }
            step(size_target);
            check();
            if (op % validate_every == 0) { map_.validate(); }
            if (testing::Test::HasFailure()) { return; }
        }
        finish();
    }

    /// How often generations were found used up.
    std::size_t exhausted_seen() const { return exhausted_seen_; }

private:
    std::uint32_t pick(std::size_t below) { return static_cast<std::uint32_t>(random_() % below); }

    void step(std::size_t size_target) {
        const std::uint32_t die = pick(1000);
        const bool grow =
            live_.size() < size_target / 2 || (growing_ && live_.size() < size_target);
        if (die < 700) {
            if (grow ? die < 500 : die < 250) {
                insert();
            } else {
                erase();
            }
        } else if (die < 760) {
            take();
        } else if (die < 820) {
            hold();
        } else if (die < 880) {
            settle_held();
        } else if (die < 940) {
            retire();
        } else if (die < 990) {
            collect();
        } else if (die < 994) {
            erase_some();
        } else if (die == 994) {
            if (pick(20) == 0) { clear(); }
        } else if (die == 995) {
            EXPECT_TRUE(map_.reserve(live_.size() + pick(100)));
        } else if (die == 996) {
            EXPECT_TRUE(map_.shrink_to_fit());
        } else if (die == 997) {
            if constexpr (requires { map_.sort([](const auto&, const auto&) { return false; }); }) {
                EXPECT_TRUE(map_.sort([](const auto& a, const auto& b) {
                    return a.value() % 1009 < b.value() % 1009;
                }));
            }
        } else if (die == 998) {
            Map other{std::move(map_)};
            EXPECT_EQ(map_.size(), 0u);
            map_ = std::move(other);
        } else {
            recycle();
        }
    }

    void insert() {
        const std::uint64_t value = ++last_value_;
        const handle h = pick(2) == 0
                             ? made::emplace(map_, value)
                             : map_.emplace_with([&](handle) { return made::make(value); });
        if (!h) {
            exhausted();
            return;
        }
        add(h, value);
    }

    void add(handle h, std::uint64_t value) {
        for (std::size_t i = 0; i < 2 && !dead_.empty(); ++i) {
            EXPECT_NE(dead_[pick(dead_.size())], h) << "no handle is given out twice";
        }
        EXPECT_TRUE(where_.emplace(h.raw(), live_.size()).second);
        live_.push_back({h, value});
    }

    void erase() {
        if (live_.empty()) { return; }
        const std::size_t i = pick(live_.size());
        EXPECT_TRUE(map_.erase(live_[i].first));
        bury(i);
    }

    void take() {
        if (live_.empty()) { return; }
        const std::size_t i = pick(live_.size());
        const auto taken = map_.take(live_[i].first);
        EXPECT_TRUE(taken.has_value());
        if (taken) { EXPECT_EQ(taken->value(), live_[i].second); }
        bury(i);
    }

    void hold() {
        if (held_.size() >= 50) { return; }
        const handle h = map_.promise_handle();
        if (!h) {
            exhausted();
            return;
        }
        EXPECT_FALSE(map_.contains(h));
        EXPECT_TRUE(map_.is_promised(h));
        held_.push_back(h);
    }

    void settle_held() {
        if (held_.empty()) { return; }
        const std::size_t i = pick(held_.size());
        const handle h = held_[i];
        held_[i] = held_.back();
        held_.pop_back();
        if (pick(2) == 0) {
            map_.abandon(h);
            dead_.push_back(h);
        } else {
            const std::uint64_t value = ++last_value_;
            EXPECT_TRUE(made::fulfil(map_, h, value));
            add(h, value);
        }
        EXPECT_FALSE(map_.is_promised(h));
    }

    void retire() {
        if (live_.empty()) { return; }
        const std::size_t i = pick(live_.size());
        EXPECT_TRUE(map_.retire(live_[i].first, fence_ + pick(5)));
        bury(i);
    }

    void collect() {
        ++fence_;
        const std::size_t before = map_.pending_count();
        const std::size_t count = map_.collect(fence_);
        EXPECT_EQ(map_.pending_count(), before - count);
    }

    void erase_some() {
        const std::uint64_t part = pick(50);
        std::size_t count = 0;
        for (std::size_t i = live_.size(); i != 0; --i) {
            if (live_[i - 1].second % 50 == part) {
                bury(i - 1);
                ++count;
            }
        }
        const auto is_part = [&](const auto& object) { return object.value() % 50 == part; };
        if constexpr (requires { map_.swap_erase_if(is_part); }) {
            if (pick(2) == 0) {
                EXPECT_EQ(map_.swap_erase_if(is_part), count);
                return;
            }
        }
        EXPECT_EQ(map_.erase_if(is_part), count);
    }

    void clear() {
        map_.clear();
        while (!live_.empty()) { bury(live_.size() - 1); }
        dead_.insert(dead_.end(), held_.begin(), held_.end());
        held_.clear();
    }

    /// Sometimes every handle is thrown away: then exhausted slots may come back.
    void recycle() {
        if (map_.worn_out_slot_count() == 0 || pick(10) != 0) { return; }
        ++exhausted_seen_;
        dead_.clear();
        map_.recycle_slots(cairn::no_handles_left);
        EXPECT_EQ(map_.worn_out_slot_count(), 0u);
    }

    void exhausted() {
        ++exhausted_seen_;
        EXPECT_GT(map_.worn_out_slot_count(), 0u) << "nothing else stops this map";
        dead_.clear();
        map_.recycle_slots(cairn::no_handles_left);
    }

    void bury(std::size_t i) {
        const handle h = live_[i].first;
        where_.erase(h.raw());
        live_[i] = live_.back();
        live_.pop_back();
        if (i < live_.size()) { where_[live_[i].first.raw()] = i; }
        if (dead_.size() < 20000) {
            dead_.push_back(h);
        } else {
            dead_[pick(dead_.size())] = h;
        }
    }

    void check() {
        ASSERT_EQ(map_.size(), live_.size());
        if (!live_.empty()) {
            const auto& [h, value] = live_[pick(live_.size())];
            const auto object = std::as_const(map_).find(h);
            ASSERT_TRUE(object != nullptr);
            ASSERT_EQ(object->value(), value);
        }
        if (!dead_.empty()) {
            const handle h = dead_[pick(dead_.size())];
            ASSERT_FALSE(map_.contains(h)) << "a handle of the past finds nothing";
            ASSERT_FALSE(map_.is_promised(h));
            ASSERT_FALSE(map_.erase(h));
        }
        ASSERT_FALSE(map_.contains(handle{}));
    }

    void finish() {
        std::size_t visited = 0;
        for (auto it = map_.begin(); it != map_.end(); ++it) { ++visited; }
        EXPECT_EQ(visited, live_.size());
        for (const auto& [h, value] : live_) { EXPECT_TRUE(map_.contains(h)); }
        for (const handle h : dead_) { EXPECT_FALSE(map_.contains(h)); }
        map_.validate();
    }

    Map& map_;
    std::mt19937 random_;
    std::vector<std::pair<handle, std::uint64_t>> live_;
    std::unordered_map<std::uint64_t, std::size_t> where_;
    std::vector<handle> dead_;
    std::vector<handle> held_;
    std::uint64_t last_value_ = 0;
    std::uint64_t fence_ = 0;
    bool growing_ = false;
    std::size_t exhausted_seen_ = 0;
};

}  // namespace map_model
