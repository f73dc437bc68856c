// lab/families/soak.hpp - the load of `defrag`: a game that streams assets into memory that is nearly full.
//
//      each frame    a few objects go; others come until 85 % of the region live again, but no more
//                    than eight: they are loaded from somewhere
//      every 1000    a level change: half of all go at once, and the sizes change
//      now and then  an object is pinned for up to 60 frames
//
// Sizes are log-uniform: 64 B to 256 KiB on even levels, 1 KiB to 256 KiB on odd ones.
//
// The same trace for every contender, request by request, whatever it refuses: an asset that did not
// fit stays in the game's list without bytes (as a game that does without it would keep it), and goes
// when its turn comes; who is pinned, and so stays, is part of the trace too. outcome::trace says so.
//
// A memory answers:
//
//      id allocate(size)   null id: refused           void deallocate(id, size)
//      char* at(id)        where it is now            double end_frame()  the safe point: nanoseconds
//      void hold(id)       pin it                     void let_go()       unpin the oldest
#pragma once

#include <climits>
#include <cmath>

#include "lab/harness/experiment.hpp"

namespace lab::soak {

struct plan {
    std::size_t region = std::size_t{16} << 20;
    double live_share = 0.85;
    unsigned frames = 2'000;
    unsigned level_frames = 1'000;
    double smallest[2] = {64, 1024};  ///< of even and odd levels
    double largest = 256 * 1024;
    unsigned victims = 2;      ///< objects that go in each frame
    unsigned arrivals = 8;     ///< objects that come in each frame, at most
    bool touches_all = false;  ///< writes every byte: the footprint counts
    bool with_pins = true;
};

/// What one run over the trace saw.
struct outcome {
    std::uint64_t requests = 0;
    std::uint64_t failures = 0;
    /// Refused although live + request <= region - 2 x slack.
    std::uint64_t avoidable = 0;
    std::uint64_t trace = 0;       ///< of all sizes and victims: equal for all contenders
    std::vector<float> pauses_ns;  ///< of each frame's safe point
};

template <class Memory>
class player {
public:
    player(Memory& memory, const plan& p) : memory_{memory}, plan_{p} {
        objects_.reserve(p.region / 1024);
    }

    /// Calls watch(frame) after each frame. `slack`: what the memory asks for beyond live + request.
    template <class Watch>
    outcome play(std::size_t slack, Watch watch) {
        outcome r;
        r.pauses_ns.reserve(plan_.frames);
        const auto room =
            static_cast<std::size_t>(static_cast<double>(plan_.region) * plan_.live_share);
        for (unsigned f = 0; f != plan_.frames; ++f) {
            frame_ = f;
            const unsigned level = f / plan_.level_frames;
            if (f != 0 && f % plan_.level_frames == 0) {
                for (std::size_t n = objects_.size() / 2; n != 0; --n) remove_one();
            }
            for (unsigned n = 0; n != plan_.victims; ++n) remove_one();
            fill(r, level, f == 0 ? UINT_MAX : plan_.arrivals, room, slack);
            if (plan_.with_pins) pin_some();
            r.pauses_ns.push_back(static_cast<float>(memory_.end_frame()));
            watch(f);
        }
        r.trace = trace_;
        return r;
    }

    [[nodiscard]] std::size_t live_size() const { return live_; }
    [[nodiscard]] std::size_t object_count() const { return objects_.size(); }
    /// Every object still holds what was written into it.
    [[nodiscard]] bool is_intact() const {
        return std::all_of(objects_.begin(), objects_.end(), [&](const object& o) {
            if (!o.id) return true;
            std::uint64_t first = 0;
            std::memcpy(&first, memory_.at(o.id), sizeof first);
            return first == o.mark;
        });
    }
    void remove_all() {
        while (!pinned_until_.empty()) unpin_oldest();
        while (!objects_.empty()) remove(objects_.size() - 1);
    }

private:
    using name = typename Memory::id;
    struct object {
        name id;  ///< null: refused
        std::size_t size;
        std::uint64_t mark;
        unsigned free_from = 0;  ///< the first frame in which it is not pinned
    };

    void note(std::uint64_t x) { trace_ = (trace_ ^ x) * 0x100'0000'01b3u; }

    std::size_t next_size(unsigned level) {
        const double low = std::log(plan_.smallest[level % 2]);
        const double high = std::log(plan_.largest);
        const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
        return static_cast<std::size_t>(std::exp(low + u * (high - low)));
    }

    /// Until the share of the region is asked for.
    void fill(outcome& r, unsigned level, unsigned arrivals, std::size_t room, std::size_t slack) {
        for (; arrivals != 0; --arrivals) {
            const std::size_t size = next_size(level);
            if (asked_ + size > room) break;
            const std::uint64_t mark = random_();
            ++r.requests;
            note(size);
            const name got = memory_.allocate(size);
            objects_.push_back({got, size, mark});
            asked_ += size;
            if (!got) {
                ++r.failures;
                r.avoidable += live_ + size + 2 * slack <= plan_.region ? 1 : 0;
                continue;
            }
            if (plan_.touches_all) std::memset(memory_.at(got), 1, size);
            std::memcpy(memory_.at(got), &mark, sizeof mark);
            live_ += size;
        }
    }

    void remove_one() {
        if (objects_.empty()) return;
        for (int tries = 0; tries != 8; ++tries) {  // pinned objects stay
            const std::size_t i = random_() % objects_.size();
            if (objects_[i].free_from > frame_) continue;
            note(i);
            remove(i);
            return;
        }
    }
    void remove(std::size_t i) {
        const object& o = objects_[i];
        asked_ -= o.size;
        if (o.id) {
            memory_.deallocate(o.id, o.size);
            live_ -= o.size;
        }
        objects_[i] = objects_.back();
        objects_.pop_back();
    }

    void pin_some() {
        while (!pinned_until_.empty() && pinned_until_.front() <= frame_) unpin_oldest();
        if (random_() % 4 != 0 || objects_.empty()) return;
        object& o = objects_[random_() % objects_.size()];
        const unsigned until = frame_ + 60;
        o.free_from = until + 1;
        if (!o.id) return;
        memory_.hold(o.id);
        pinned_until_.push_back(until);
    }
    void unpin_oldest() {
        memory_.let_go();
        pinned_until_.pop_front();
    }

    Memory& memory_;
    plan plan_;
    std::vector<object> objects_;
    std::deque<unsigned> pinned_until_;
    std::size_t live_ = 0;   ///< bytes
    std::size_t asked_ = 0;  ///< bytes, with those that were refused
    unsigned frame_ = 0;
    std::uint64_t trace_ = 0xcbf2'9ce4'8422'2325u;
    std::mt19937_64 random_{61};
};

}  // namespace lab::soak
