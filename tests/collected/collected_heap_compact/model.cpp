// collected_heap::compact() against a model: everything that led to an object still does.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collected/collected_heap_compact/units.hpp"

namespace {

using namespace units;

/// What each unit should refer to, by ids; 0 is null.
struct expected {
    std::uint32_t next = 0, other = 0;
    std::vector<std::uint32_t> friends;
};

class world {
public:
    explicit world(const cairn::collected_heap::options& how) : heap_{3 << 20, how} {
        fleet_ = heap_.make<fleet>();
        root<ship> s = heap_.make<ship>();
        s->number = 77;
        fleet_->flagship = s.get();
        base_ = s.get();
    }
    void change() {
        switch (any_.below(10)) {
            case 0:
            case 1:
            case 2:
            case 3:
                add();
                break;
            case 4:
            case 5:
                link();
                break;
            case 6:
                befriend();
                break;
            case 7:
                enlist();
                break;
            default:
                drop();
                break;
        }
    }
    void compact() {
        moved_count_ += heap_.compact().moved_count;
        heap_.validate();
        check();
    }
    void step() { heap_.step(); }
    [[nodiscard]] std::size_t moved_count() const { return moved_count_; }

private:
    void add() {
        unit* const u = heap_.make<unit>(++last_id_);
        ASSERT_NE(u, nullptr);
        model_[u->id] = {};
        if (roots_.size() < 300) {
            roots_.emplace_back(u);
        } else {
            roots_[any_.below(300)] = u;
        }
    }
    unit* any() { return roots_.empty() ? nullptr : roots_[any_.below(roots_.size())].get(); }
    static std::uint32_t id_of(const unit* u) { return u == nullptr ? 0 : u->id; }
    void link() {
        unit* const a = any();
        unit* const b = any();
        if (a == nullptr || b == nullptr) { return; }
        (any_.below(2) == 0 ? a->next : a->other) = b;
        model_[a->id].next = id_of(a->next);
        model_[a->id].other = id_of(a->other);
    }
    void befriend() {
        unit* const a = any();
        if (a == nullptr) { return; }
        if (a->friends.size() > 40) {
            a->friends.clear();
            model_[a->id].friends.clear();
        }
        unit* const b = any();
        ASSERT_TRUE(a->friends.push_back(b));
        model_[a->id].friends.push_back(id_of(b));
    }
    void enlist() {
        unit* const u = any();
        if (u == nullptr) { return; }
        if (enlisted_.size() > 50) {
            fleet_->units.edit().clear();
            enlisted_.clear();
        }
        ASSERT_NE(fleet_->units.edit().emplace(u), nullptr);
        enlisted_.push_back(u->id);
        static_cast<ship*>(base_.get())->owner = u;
        owner_ = u->id;
    }
    void drop() {
        if (roots_.size() < 20) { return; }
        roots_[any_.below(roots_.size())] = std::move(roots_.back());
        roots_.pop_back();
    }
    void check() {
        std::map<std::uint32_t, unit*> seen;
        for (const auto& r : roots_) { visit(r.get(), seen); }
        ASSERT_EQ(fleet_->units->size(), enlisted_.size());
        std::size_t i = 0;
        for (const outer_ref<unit>& u : *fleet_->units) { ASSERT_EQ(u->id, enlisted_[i++]); }
        ASSERT_EQ(fleet_->flagship.get(), base_.get());
        ASSERT_EQ(base_->number, 77u);
        ASSERT_EQ(id_of(base_->owner), owner_);
    }
    void visit(unit* first, std::map<std::uint32_t, unit*>& seen) {
        std::vector<unit*> open{first};
        while (!open.empty()) {
            unit* const u = open.back();
            open.pop_back();
            if (u == nullptr || !seen.emplace(u->id, u).second) { continue; }
            const expected& e = model_[u->id];
            ASSERT_EQ(id_of(u->next), e.next);
            ASSERT_EQ(id_of(u->other), e.other);
            ASSERT_EQ(u->friends.size(), e.friends.size());
            for (std::size_t i = 0; i < e.friends.size(); ++i) {
                ASSERT_EQ(id_of(u->friends[i]), e.friends[i]);
                open.push_back(u->friends[i]);
            }
            open.push_back(u->next);
            open.push_back(u->other);
        }
    }

    collected_heap heap_;
    dice any_;
    root<fleet> fleet_;
    root<named> base_;
    std::vector<root<unit>> roots_;
    std::map<std::uint32_t, expected> model_;
    std::vector<std::uint32_t> enlisted_;
    std::uint32_t owner_ = 0;
    std::uint32_t last_id_ = 0;
    std::size_t moved_count_ = 0;
};

void play(const cairn::collected_heap::options& how, int changes, int steps_every) {
    world w{how};
    for (int i = 1; i <= changes; ++i) {
        w.change();
        if (::testing::Test::HasFatalFailure()) { return; }
        if (i % steps_every == 0) { w.step(); }
        if (i % 499 == 0) { w.compact(); }
    }
    EXPECT_GT(w.moved_count(), 100u);
}

TEST(collected_heap_compact_test, every_reference_leads_where_it_led_before) {
    play({}, 12'000, 50);
}
TEST(collected_heap_compact_test, the_same_with_all_debug_modes) {
    play({.stress = true, .verify = true}, 5'000, 100);
}

}  // namespace
