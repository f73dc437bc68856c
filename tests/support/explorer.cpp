// Cold half of tests/support/explorer.hpp: decisions and clocks.
#include "support/explorer.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "support/explorer/fibre.hpp"

namespace explorer {
namespace {

struct decision {
    int picked;
    int count;
    const char* what;
};

struct engine {
    fibre fibres[threads_max + 1];
    detail::clock clocks[threads_max + 1];
    bool done[threads_max] = {};
    const void* waits_for[threads_max] = {};
    int thread_count = 0;
    int current = threads_max;  // setting up or checking
    int preemptions_left = 0;
    bool failed = false;
    std::string message;
    std::vector<decision> trail;
    std::size_t position = 0;
    program what;
};

engine* e = nullptr;

void switch_to(int to) {
    const int from = e->current;
    e->current = to;
    const bool ends = from != threads_max && e->done[from];
    switch_fibres(e->fibres[from], e->fibres[to], ends);
}

bool can_run(int thread) { return !e->done[thread] && e->waits_for[thread] == nullptr; }

/// Somebody who can go on, by decision; the exploring thread when all are done.
int next_runnable() {
    int runnable[threads_max];
    int count = 0;
    bool all_done = true;
    for (int t = 0; t < e->thread_count; ++t) {
        all_done = all_done && e->done[t];
        if (can_run(t)) { runnable[count++] = t; }
    }
    if (count != 0) { return runnable[detail::decide(count, "next thread")]; }
    if (!all_done && !e->failed) {
        e->failed = true;
        e->message = "everybody waits";
    }
    return threads_max;
}

void enter() {
    arrive(e->fibres[threads_max]);
    const int me = e->current;
    e->what.thread(me);
    e->done[me] = true;
    switch_to(next_runnable());
    is_begun_anew();  // nobody else returns to a finished thread
}

std::string describe_trail() {
    std::ostringstream text;
    for (std::size_t i = 0; i < e->position; ++i) {
        const decision& d = e->trail[i];
        if (d.count > 1 && d.picked != 0) {
            text << "  decision " << i << ": " << d.what << " " << d.picked << " of " << d.count
                 << "\n";
        }
    }
    return text.str();
}

void run_once(const options& o, const std::function<program()>& make) {
    e->position = 0;
    e->thread_count = o.threads;
    e->current = threads_max;
    e->preemptions_left = o.preemptions;
    for (detail::clock& c : e->clocks) { c = {}; }
    e->what = make();
    for (int t = 0; t < o.threads; ++t) {
        e->done[t] = false;
        e->waits_for[t] = nullptr;
        e->clocks[t].join(e->clocks[threads_max]);
        begin(e->fibres[t], &enter);
    }
    switch_to(next_runnable());
    if (!e->failed) {
        for (int t = 0; t < o.threads; ++t) { e->clocks[threads_max].join(e->clocks[t]); }
        e->what.at_end();
    }
}

/// Advances the list of decisions to the next one. Returns: false when there is none.
bool advance() {
    e->trail.resize(e->position);
    while (!e->trail.empty() && e->trail.back().picked + 1 == e->trail.back().count) {
        e->trail.pop_back();
    }
    if (e->trail.empty()) { return false; }
    ++e->trail.back().picked;
    return true;
}

}  // namespace

result explore(const options& o, const std::function<program()>& make) {
    auto owned = std::make_unique<engine>();
    e = owned.get();
    result r;
    while (true) {
        run_once(o, make);
        ++r.executions;
        if (e->failed) {
            r.failed = true;
            r.message = e->message + "\n" + describe_trail();
            break;
        }
        if (!advance()) {
            r.exhausted = true;
            break;
        }
        if (r.executions >= o.execution_limit) { break; }
    }
    e->what = {};
    e = nullptr;
    return r;
}

bool any_failed(std::initializer_list<result> results) {
    for (const result& r : results) {
        if (!r.failed) { continue; }
        std::printf("    caught after %llu executions: %s",
                    static_cast<unsigned long long>(r.executions),
                    r.message.substr(0, r.message.find('\n') + 1).c_str());
        return true;
    }
    return false;
}

void require(bool condition, const char* what) {
    if (condition || e->failed) { return; }
    e->failed = true;
    e->message = what;
    if (e->current != threads_max) { switch_to(threads_max); }  // its stack is abandoned
}

namespace detail {

int running() { return e->current; }
clock& now() { return e->clocks[e->current]; }
std::uint32_t tick() { return ++now().at[e->current]; }

int decide(int count, const char* what) {
    if (count == 1) { return 0; }
    if (e->position == e->trail.size()) { e->trail.push_back({0, count, what}); }
    const decision& d = e->trail[e->position++];
    if (d.count != count) {
        std::fprintf(stderr, "explorer: the program does not repeat itself\n");
        std::abort();
    }
    return d.picked;
}

bool fails_for_no_reason() {
    if (e->current == threads_max || e->preemptions_left == 0) { return false; }
    const bool fails = decide(2, "a weak exchange fails for no reason") == 1;
    e->preemptions_left -= fails ? 1 : 0;
    return fails;
}

void decide_who_runs() {
    const int me = e->current;
    if (me == threads_max || e->preemptions_left == 0) { return; }
    int others[threads_max];
    int count = 0;
    for (int t = 0; t < e->thread_count; ++t) {
        if (t != me && can_run(t)) { others[count++] = t; }
    }
    const int picked = decide(count + 1, "preempted by");
    if (picked != 0) {
        --e->preemptions_left;
        switch_to(others[picked - 1]);
    }
}

bool wait_for(const void* what) {
    const int me = e->current;
    if (me == threads_max) {  // setting up or checking: nobody will wake it
        require(false, "a lock was left held");
        return false;
    }
    e->waits_for[me] = what;
    switch_to(next_runnable());
    return true;
}

void wake(const void* what) {
    for (const void*& w : e->waits_for) { w = w == what ? nullptr : w; }
}

history::history() {
    const int me = e != nullptr ? running() : threads_max;
    stores_.push_back({me, e != nullptr ? tick() : 0, e != nullptr ? now() : clock{}});
}

std::size_t history::oldest_readable() const {
    const clock& c = now();
    std::size_t oldest = 0;
    for (std::size_t i = stores_.size(); i-- != 0;) {
        if (stores_[i].time <= c.at[stores_[i].thread]) {
            oldest = i;  // it happened before: older ones are gone
            break;
        }
    }
    for (int t = 0; t <= threads_max; ++t) {
        for (std::size_t i = seen_[t].size(); i-- != 0;) {
            if (seen_[t][i].time <= c.at[t]) {
                oldest = oldest < seen_[t][i].index ? seen_[t][i].index : oldest;
                break;
            }
        }
    }
    return oldest;
}

bool history::is_stuck() const {
    const last_read& last = last_[e->current];
    return last.repeated >= 8 && last.index != newest();
}

void history::note_read(std::size_t index, memory_order order) {
    last_read& last = last_[e->current];
    last.repeated = last.index == index ? last.repeated + 1 : 0;
    last.index = index;
    if (is_acquire(order)) { now().join(stores_[index].release); }
    const std::uint32_t time = tick();
    seen_[running()].push_back({time, index});
}

void history::note_store(memory_order order, bool extends_release_sequence) {
    const std::uint32_t time = tick();
    clock release;
    if (is_release(order)) { release = now(); }
    if (extends_release_sequence) { release.join(stores_.back().release); }
    stores_.push_back({running(), time, release});
    seen_[running()].push_back({time, stores_.size() - 1});
}

}  // namespace detail
}  // namespace explorer
