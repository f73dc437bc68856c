// cairn/containers/object_pool/prewarm.hpp - object_pool: many objects are built ahead, by threads.
// Included by object_pool.hpp.
//
//      vacant slots, and fresh ones up to a cache line     one by one, here
//      fresh slots of the newest block                     in parts, a thread each
//      |--- thread 0 ---|--- thread 1 ---|--- thread 2 ---|
//      ^ cache line     ^ cache line     ^
//
// What was built stays, whatever happens: each part marks its objects, and in the end those that
// are marked go on the stack.
#pragma once

#include <cairn/containers/object_pool.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <detail::element T, class Hooks, hook_rules Rules>
bool object_pool<T, Hooks, Rules>::prewarm(std::size_t count, std::size_t thread_count) {
    if (count <= slots_.idle_count_) { return true; }
    if (idle_count_min_ == none_to_acquire) { return false; }
    if (count - slots_.idle_count_ > options_.object_count_max - built_count_ ||
        !slots_.can_ever_hold(built_count_ + (count - slots_.idle_count_))) {
        return false;
    }
    // Vacant slots one by one, and fresh ones up to the beginning of a cache line.
    while (slots_.idle_count_ < count &&
           (slots_.vacant_count_ != 0 ||
            (slots_.fresh_count_ != 0 &&
             !detail::is_aligned(slots_.fresh_, detail::cache_line_alignment)))) {
        if (!build_one()) { return false; }
    }
    while (slots_.idle_count_ < count) {
        const std::size_t missing = count - slots_.idle_count_;
        if (slots_.fresh_count_ == 0 &&
            !slots_.grow(first_growth(missing), missing, options_.object_count_max)) {
            return false;
        }
        struct work {
            object_pool* pool;
            std::byte* first;
        } job{this, slots_.fresh_};
        const std::size_t batch = missing < slots_.fresh_count_ ? missing : slots_.fresh_count_;
        slots_.fresh_ += batch * slot_size;
        slots_.fresh_count_ -= batch;
        // A constructor that acquires on another thread is refused: the stack is this thread's.
        const std::size_t idle_min = idle_count_min_;
        if (thread_count > 1) { idle_count_min_ = none_to_acquire; }
        const detail::rollback collected{[&]() noexcept {  // always: what was built stays
            if (thread_count > 1) { idle_count_min_ = idle_min; }
            for (std::size_t i = 0; i < batch; ++i) {
                void* const slot = job.first + i * slot_size;
                state_of(slot).tag != 0 ? add_idle(slot) : slots_.give_vacant(slot);
            }
        }};
        // After this many slots a cache line begins again.
        constexpr std::size_t power = slot_size & (~slot_size + 1);
        constexpr std::size_t multiple = power < cache_line_size ? cache_line_size / power : 1;
        detail::run_in_parts(
            batch, thread_count, multiple,
            [](void* context, std::size_t, std::size_t first, std::size_t last) {
                auto& j = *static_cast<work*>(context);
                for (std::size_t i = first; i < last; ++i) {
                    void* const slot = j.first + i * slot_size;
                    detail::construct_pooled<T>(j.pool->hooks_, slot);
                    state_of(slot).tag = j.pool->tag();
                }
            },
            compiler::address_of(job));
    }
    return true;
}

}}  // namespace cairn::CAIRN_FLAVOUR
