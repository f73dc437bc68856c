// lab/peers/boehm.hpp - Boehm's conservative collector, on one thread: stopping, incremental, and
// asked for a little each frame.
#pragma once

#include <gc.h>

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct boehm {
    enum class mode { stopping, incremental, a_little };

    template <mode Mode>
    class graph {
    public:
        explicit graph(const graphs::extent& e) {
            begin_process();
            // Roots: the collector knows this memory and never frees it by itself.
            all_ = static_cast<roots*>(GC_MALLOC_UNCOLLECTABLE(sizeof(roots)));
            all_->table = static_cast<node**>(GC_MALLOC(e.slots * sizeof(node*)));
        }
        graph(const graph&) = delete;
        ~graph() {
            GC_FREE(all_);
            GC_gcollect();
        }

        void make(unsigned r) { all_->at[r] = static_cast<node*>(GC_MALLOC(sizeof(node))); }
        void load(unsigned r, std::uint32_t slot) { all_->at[r] = all_->table[slot]; }
        void store(std::uint32_t slot, unsigned r) { all_->table[slot] = all_->at[r]; }
        void link(unsigned r, unsigned field, unsigned q) {
            all_->at[r]->refs[field] = all_->at[q];
        }
        void unlink(unsigned r, unsigned field) { all_->at[r]->refs[field] = nullptr; }
        void safe_point() {
            if constexpr (Mode == mode::a_little) GC_collect_a_little();
        }

    private:
        struct node {
            node* refs[graphs::field_count];
            char data[graphs::data_size];
        };
        struct roots {
            node** table;
            node* at[graphs::register_count];
        };

        static void begin_process() {
            static const bool is_ready = [] {
                setenv("GC_MARKERS", "1", 1);
                GC_INIT();
                if constexpr (Mode != mode::stopping) {
                    GC_timeval_s limit{};
                    limit.tv_nsec = 50'000;
                    GC_set_time_limit_tv(limit);
                    GC_enable_incremental();
                }
                return true;
            }();
            static_cast<void>(is_ready);
        }

        roots* all_;
    };

    static void offer(kinds::graphs, auto visit) {
        visit.template operator()<graph<mode::stopping>>("Boehm");
        visit.template operator()<graph<mode::incremental>>("Boehm, incremental, 50 us");
        visit.template operator()<graph<mode::a_little>>("Boehm, a little each frame, 50 us");
    }
};

}  // namespace lab::peers
