// A program that loads plugins, each with a cairn of its own in it, and lets each work with what
// the others made.
//
//      host local|global PLUGIN PLUGIN [--unloads]      exit status 0: nothing was mixed up
//
// Linked with a cairn of its own it takes part as a module itself (MODULE_HOST_HAS_CAIRN).
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "modules/module.hpp"

namespace {

int failures = 0;

void expect(bool is_so, const char* sentence, const std::string& where) {
    if (!is_so) {
        ++failures;
        std::printf("not so (%s): %s\n", where.c_str(), sentence);
    }
}

struct module {
    std::string name;
    const module_interface* calls;
};

using pair_test = void (*)(const module& a, const module& b, const std::string& where);

void pools_of_two_modules_stay_apart(const module& a, const module& b, const std::string& where) {
    void* const small = a.calls->make_pool(64);
    void* const large = b.calls->make_pool(4096);
    std::set<void*> seen;
    for (int i = 0; i < 200; ++i) {
        void* const s = a.calls->allocate(small);
        void* const l = b.calls->allocate(large);
        expect(a.calls->owns(small, s) && !b.calls->owns(large, s), "a slot is its own pool's",
               where);
        expect(b.calls->owns(large, l) && !a.calls->owns(small, l), "a slot is its own pool's",
               where);
        expect(seen.insert(s).second && seen.insert(l).second, "a slot is given out once", where);
        std::memset(s, 1, 64);
        std::memset(l, 2, 4096);
    }
    for (void* const slot : seen) {
        if (a.calls->owns(small, slot)) {
            a.calls->deallocate(small, slot);
        } else {
            b.calls->deallocate(large, slot);
        }
    }
    expect(a.calls->facts(small).live_count == 0, "all came back", where);
    expect(b.calls->facts(large).live_count == 0, "all came back", where);
    a.calls->end_pool(small);
    b.calls->end_pool(large);
}

void a_pool_of_one_module_works_in_another(const module& a, const module& b,
                                           const std::string& where) {
    void* const made_in_a = a.calls->make_pool(64);
    void* const own_of_b = b.calls->make_pool(64);  // so that b has caches of its own, too
    std::atomic<bool> mixed_up{false};
    const auto work = [&](bool ends_with_release) {
        std::vector<void*> slots;
        for (int i = 0; i < 2000; ++i) {
            const module& turn = i % 3 == 0 ? a : b;
            if (i % 5 != 4) {
                slots.push_back(turn.calls->allocate(made_in_a));
                if (!a.calls->owns(made_in_a, slots.back())) { mixed_up = true; }
            } else if (!slots.empty()) {
                turn.calls->deallocate(made_in_a, slots.back());
                slots.pop_back();
            }
            b.calls->deallocate(own_of_b, b.calls->allocate(own_of_b));
        }
        b.calls->deallocate(made_in_a, b.calls->allocate_from_view(made_in_a));
        for (void* const s : slots) { b.calls->deallocate(made_in_a, s); }
        if (ends_with_release) { b.calls->release_this_thread(made_in_a); }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) { threads.emplace_back(work, t == 0); }
    for (auto& t : threads) { t.join(); }
    work(true);
    expect(!mixed_up, "a slot of a pool made elsewhere is that pool's", where);
    const pool_facts facts = b.calls->facts(made_in_a);
    expect(facts.live_count == 0, "all slots came back", where);
    expect(facts.cache_count == 0, "threads that ended or released hold nothing", where);
    expect(a.calls->facts(made_in_a).live_count == 0, "both modules count alike", where);
    b.calls->reset(made_in_a);
    b.calls->end_pool(own_of_b);
    a.calls->end_pool(made_in_a);
}

void numbers_and_counters(const module& a, const module& b, const std::string& where) {
    void* const counters = a.calls->make_counters();
    std::atomic<int> ready{0};
    std::vector<unsigned> numbers(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            // In different orders, so that the numbers of the two modules differ.
            (void)(t % 2 == 0 ? a : b).calls->thread_number();
            ++ready;
            while (ready < 4) { std::this_thread::yield(); }
            numbers[t] = a.calls->thread_number();
            for (int i = 0; i < 1000; ++i) { (i % 2 == 0 ? a : b).calls->count(counters); }
            ++ready;
            while (ready < 8) { std::this_thread::yield(); }
        });
    }
    for (auto& t : threads) { t.join(); }
    std::sort(numbers.begin(), numbers.end());
    expect(std::unique(numbers.begin(), numbers.end()) == numbers.end(),
           "living threads have different numbers", where);
    expect(b.calls->sum(counters) == 4000, "no count is lost", where);
    a.calls->end_counters(counters);
}

void heaps_work_in_every_thread(const module& a, const module& b, const std::string& where) {
    const auto work = [&] {
        expect(a.calls->heap_works() && b.calls->heap_works(), "a heap serves a thread", where);
    };
    work();
    std::thread{work}.join();
}

void a_mutex_of_both(const module& a, const module& b, const std::string& where) {
    void* const m = a.calls->make_mutex();
    long plain = 0;
    const auto work = [&](const module& mine) {
        for (int i = 0; i < 20'000; ++i) {
            mine.calls->lock(m);
            ++plain;
            if (i % 64 == 0) { std::this_thread::yield(); }  // so that others go to sleep
            mine.calls->unlock(m);
        }
    };
    std::thread one{work, a};
    std::thread two{work, b};
    std::thread three{work, a};
    one.join();
    two.join();
    three.join();
    expect(plain == 60'000, "one at a time holds the mutex", where);
    a.calls->end_mutex(m);
}

void scratch_avoids_what_it_is_given(const module& a, const module& b, const std::string& where) {
    struct step {
        const module* next;
        void* outer;
        const std::string* where;
    } s{&b, nullptr, &where};
    a.calls->with_scratch(
        nullptr,
        [](void* outer, void* argument) {
            auto& here = *static_cast<step*>(argument);
            here.outer = outer;
            here.next->calls->with_scratch(
                outer,
                [](void* inner, void* again) {
                    auto& there = *static_cast<step*>(again);
                    expect(inner != there.outer, "scratch is not what the caller returns into",
                           *there.where);
                },
                argument);
        },
        &s);
}

void markers_know_their_arena(const module& a, const module& b, const std::string& where) {
    void* const one = a.calls->make_marked_arena();
    void* const two = b.calls->make_marked_arena();
    expect(!a.calls->stamps_are_equal(one, two), "a marker names one arena of the process", where);
    a.calls->end_marked_arena(one);
    b.calls->end_marked_arena(two);
}

constexpr pair_test all[] = {pools_of_two_modules_stay_apart,
                             a_pool_of_one_module_works_in_another,
                             numbers_and_counters,
                             heaps_work_in_every_thread,
                             a_mutex_of_both,
                             scratch_avoids_what_it_is_given,
                             markers_know_their_arena};

void* load(const char* path, int mode) {
    void* const library = dlopen(path, RTLD_NOW | mode);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        std::exit(2);
    }
    return library;
}

const module_interface* interface_of(void* library) {
    void* const found = dlsym(library, "this_module_interface");
    return reinterpret_cast<const module_interface* (*)()>(found)();
}

// A plugin whose pools this thread has used goes when it is closed, and comes again as new.
void unloads(const char* path) {
    for (int round = 0; round < 3; ++round) {
        void* const library = load(path, RTLD_LOCAL);
        const module plugin{path, interface_of(library)};
        void* const pool = plugin.calls->make_pool(64);
        plugin.calls->deallocate(pool, plugin.calls->allocate(pool));
        (void)plugin.calls->thread_number();
        plugin.calls->end_pool(pool);
        std::thread{[&] { (void)plugin.calls->thread_number(); }}.join();
        heaps_work_in_every_thread(plugin, plugin, path);
        dlclose(library);
        expect(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr, "a closed plugin is gone", path);
    }
}

}  // namespace

#if defined(MODULE_HOST_HAS_CAIRN)
extern "C" const module_interface* this_module_interface();
#endif

int main(int argc, char** argv) {
    if (argc < 4) { return 2; }
    const int mode = std::string{argv[1]} == "global" ? RTLD_GLOBAL : RTLD_LOCAL;
    if (argc > 4 && std::string{argv[4]} == "--unloads") {
        unloads(argv[2]);
        unloads(argv[3]);
    }
    std::vector<module> modules;
    for (int i = 2; i < 4; ++i) {
        modules.push_back({"plugin " + std::to_string(i - 1), interface_of(load(argv[i], mode))});
    }
#if defined(MODULE_HOST_HAS_CAIRN)
    modules.push_back({"program", this_module_interface()});
#endif
    for (const module& a : modules) {
        for (const module& b : modules) {
            // What is made by one flavour is another type to the other one: no program hands it
            // over.
            const bool are_alike = std::strcmp(a.calls->flavour, b.calls->flavour) == 0;
            const std::string where = a.name + " and " + b.name;
            for (const pair_test test : all) {
                if (are_alike || test == pools_of_two_modules_stay_apart) { test(a, b, where); }
            }
        }
    }
    std::printf("%d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
