// lab/experiments/fast-alloc.cpp - the tables of fast-alloc's README, line by line.
//
// Its Linux figures (GCC, Release, machine not named) stand beside ours as "published", its columns
// "Time" at our counterpart and "vs Standard" at glibc. What it calls a single allocation is one
// allocation of 64 bytes, given back at once where the allocator can.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include "lab/harness/experiment.hpp"

namespace {

constexpr const char* readme = "ns, fast-alloc README, Linux (GCC Release)";
constexpr std::size_t frame = 1000;

/// Takes and gives back one block, again and again.
template <class A>
auto pairs_in(std::size_t argument) {
    return [argument] {
        return [a = std::make_shared<A>(argument)](lab::sample& s) {
            for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                void* const p = a->allocate(64, cairn::alignment{8});
                lab::keep(p);
                a->deallocate(p, 64, cairn::alignment{8});
            }
            s.did(s.repetitions());
        };
    };
}

auto malloc_pairs() {
    return [](lab::sample& s) {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            void* const p = std::malloc(64);
            lab::keep(p);
            std::free(p);
        }
        s.did(s.repetitions());
    };
}

auto new_pairs() {
    return [](lab::sample& s) {
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            void* const p = ::operator new(64);
            lab::keep(p);
            ::operator delete(p);
        }
        s.did(s.repetitions());
    };
}

/// The published figure of the standard's side goes to glibc, whose malloc it was.
void publish_standard(lab::comparison& c, double ns, const char* note) {
    for (lab::contender& who : c.contenders) {
        if (who.name == "glibc") who.published(ns, note);
    }
}

struct free_list_pool {  // the pool of fast-alloc and of thesis 6.1.5: the list lies in the slots
    explicit free_list_pool(std::size_t count) : slots(count) {
        for (slot& s : slots) {
            s.next = head;
            head = &s;
        }
    }
    void* allocate(std::size_t, cairn::alignment) {
        slot* const s = head;
        if (s != nullptr) head = s->next;
        return s;
    }
    void deallocate(void* p, std::size_t, cairn::alignment) {
        auto* const s = static_cast<slot*>(p);
        s->next = head;
        head = s;
    }
    union slot {
        slot* next;
        std::byte bytes[64];
    };
    std::vector<slot> slots;
    slot* head = nullptr;
};

const lab::registration fast_alloc{
    "fast-alloc", "Do the tables of fast-alloc's README hold here?", [](lab::experiment& e) {
        e.quick_seconds = 8;

        lab::comparison& pool = e.compare("pool, single allocation");
        pool.cairn("cairn::pool",
                   [] {
                       return [p = std::make_shared<cairn::pool>(64)](lab::sample& s) {
                           for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                               void* const slot = p->allocate();
                               lab::keep(slot);
                               p->deallocate(slot);
                           }
                           s.did(s.repetitions());
                       };
                   })
            .published(1.97, readme);
        pool.limit("free list in the slots", pairs_in<free_list_pool>(1000));
        pool.mallocs(new_pairs);
        publish_standard(pool, 7.07, "ns, new/delete, fast-alloc README, Linux");

        lab::comparison& stack = e.compare("stack, single allocation");
        stack
            .cairn("cairn::arena",
                   [] {
                       return [a = std::make_shared<cairn::arena>(std::size_t{1} << 16)](
                                  lab::sample& s) {
                           for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                               void* p = a->allocate(64, cairn::alignment{8});
                               if (p == nullptr) [[unlikely]] {
                                   a->reset();
                                   p = a->allocate(64, cairn::alignment{8});
                               }
                               lab::keep(p);
                           }
                           s.did(s.repetitions());
                       };
                   })
            .published(2.20, readme);
        stack.limit("bump a pointer", [] {
            return [memory = std::vector<std::byte>(1 << 16)](lab::sample& s) mutable {
                std::byte* next = memory.data();
                std::byte* const end = next + memory.size();
                for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                    if (end - next < 64) next = memory.data();
                    lab::keep(next);
                    next += 64;
                }
                s.did(s.repetitions());
            };
        });
        stack.mallocs(malloc_pairs);
        publish_standard(stack, 5.16, "ns, malloc, fast-alloc README, Linux");

        lab::comparison& frames = e.compare("stack, frame of 1000", {.unit = "ns/frame"});
        frames
            .cairn("cairn::arena",
                   [] {
                       return [a = std::make_shared<cairn::arena>(std::size_t{1} << 17)](
                                  lab::sample& s) {
                           for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                               for (std::size_t k = 0; k != frame; ++k)
                                   lab::keep(a->allocate(64, cairn::alignment{8}));
                               a->reset();
                           }
                           s.did(s.repetitions());
                       };
                   })
            .published(1203, readme);
        frames.limit("bump a pointer", [] {
            return [memory = std::vector<std::byte>(1 << 17)](lab::sample& s) mutable {
                for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                    std::byte* next = memory.data();
                    std::byte* const end = next + memory.size();
                    for (std::size_t k = 0; k != frame; ++k) {
                        if (end - next < 64) break;
                        lab::keep(next);
                        next += 64;
                    }
                }
                s.did(s.repetitions());
            };
        });
        frames.mallocs([] {
            return [blocks = std::array<void*, frame>{}](lab::sample& s) mutable {
                for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
                    for (void*& p : blocks) {
                        p = std::malloc(64);
                        lab::keep(p);
                    }
                    for (void* p : blocks) std::free(p);
                }
                s.did(s.repetitions());
            };
        });
        publish_standard(frames, 12715, "ns, malloc, fast-alloc README, Linux");

        for (const bool first : {true, false}) {
            lab::comparison& list = e.compare(
                first ? "free list (first fit), single allocation"
                      : "free list (best fit), single allocation",
                {.many_per_cycle = true,  // the limit may cost nothing
                 .causes = {{first ? "first_fit asks a tree of maxima, levels down and up, "
                                     "each of which waits for the one before "
                                     "(docs/dead-ends.md); malloc hands out what its "
                                     "thread freed last."
                                   : "best_fit merges at once and searches by the bits of "
                                     "the size; malloc hands out what its thread freed "
                                     "last."}}});
            if (first) {
                list.cairn("cairn::heap<first_fit>",
                           pairs_in<cairn::heap<cairn::first_fit>>(1 << 20))
                    .published(4.99, readme);
            } else {
                list.cairn("cairn::heap<best_fit>", pairs_in<cairn::heap<cairn::best_fit>>(1 << 20))
                    .published(5.80, readme);
            }
            list.limit("free list of one size", pairs_in<free_list_pool>(1000));
            list.mallocs(malloc_pairs);
            publish_standard(list, 4.85, "ns, malloc, fast-alloc README, Linux");
        }
    }};

}  // namespace
