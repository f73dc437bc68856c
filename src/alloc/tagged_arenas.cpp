// Cold half of cairn/alloc/tagged_arenas.hpp: blocks, tags and the ends of views.
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/inside/address_place.hpp>

#include <new>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace {

using detail::memory_order;

constexpr alignment block_alignment{64};

std::uintptr_t begin_of(const detail::tag_block& b) noexcept {
    return reinterpret_cast<std::uintptr_t>(&b) + sizeof b;
}
std::uintptr_t end_of(const detail::tag_block& b) noexcept {
    return reinterpret_cast<std::uintptr_t>(&b) + b.size;
}
void poison_payload(const detail::tag_block& b) noexcept { poison(&b + 1, b.size - sizeof b); }

}  // namespace

struct tagged_arenas::record_group {
    static constexpr std::size_t count = 32;
    record records[count];
    record_group* next;
};

// -------------------------------------------------------------------- construction, end

tagged_arenas::tagged_arenas(allocator_ref upstream, const options& how) noexcept
    : upstream_{upstream}, how_{how} {
    CAIRN_ASSERT(how.block_size >= 1_KiB, "a block of tagged_arenas has at least 1 KiB",
                 {.object = this, .type = "tagged_arenas", .name = how.name});
    how_.block_size &= ~(block_alignment.bytes() - 1);
    if constexpr (asserts_enabled) {
        static constexpr detail::allocator_type type{"tagged_arenas", &place_of};
        watch_.set_name(how_.name, this, type);
    }
}

tagged_arenas::~tagged_arenas() {
    watch_.end();
    trim();
    while (groups_ != nullptr) {
        record_group* const group = groups_;
        for (record& r : group->records) {
            CAIRN_ASSERT(r.life.load(memory_order::relaxed) % 2 == 0,
                         "every tag ends before its tagged_arenas",
                         {.kind = misuse_kind::leak,
                          .object = this,
                          .type = "tagged_arenas",
                          .name = r.name});
            give_to_upstream(r.blocks);
            give_to_upstream(r.large);
        }
        groups_ = group->next;
        upstream_.deallocate(group, sizeof(record_group), alignment::of<record_group>());
    }
}

// -------------------------------------------------------------------- tags

bool tagged_arenas::make_records() noexcept {
    void* const p = upstream_.allocate(sizeof(record_group), alignment::of<record_group>());
    if (p == nullptr) { return false; }
    auto* const group = ::new (p) record_group{};
    const lock_scope held{mutex_};
    group->next = groups_;
    groups_ = group;
    for (record& r : group->records) {
        r.next_free = free_records_;
        free_records_ = &r;
    }
    return true;
}

tagged_arenas::tag tagged_arenas::begin(const char* name) noexcept {
    watch_.expect_not_ended(this, "tagged_arenas");
    for (;;) {
        {
            const lock_scope held{mutex_};
            if (record* const r = free_records_) {
                free_records_ = r->next_free;
                r->name = name;
                ++tag_count_;
                const std::uint64_t life = r->life.load(memory_order::relaxed) + 1;
                r->life.store(life, memory_order::relaxed);
                return tag{r, life};
            }
        }
        if (!make_records()) { return {}; }
    }
}

void tagged_arenas::expect_own(tag t, call_site from) const noexcept {
    if (!t) { return; }
    bool is_own = false;
    {
        const lock_scope held{mutex_};
        for (const record_group* g = groups_; g != nullptr && !is_own; g = g->next) {
            for (const record& r : g->records) { is_own = is_own || &r == t.record_; }
        }
    }
    CAIRN_ASSERT(is_own, "a tag is used with the tagged_arenas that began it",
                 {.kind = misuse_kind::foreign_handle,
                  .object = this,
                  .type = "tagged_arenas",
                  .name = how_.name,
                  .caller = from});
}

void tagged_arenas::end(tag t, call_site from) noexcept {
    if (!t) { return; }
    if constexpr (asserts_enabled) { expect_own(t, from); }
    record& r = *t.record_;
    CAIRN_ASSERT(is_live(t), "a tag ends once",
                 {.kind = misuse_kind::double_free,
                  .object = this,
                  .type = "tagged_arenas",
                  .name = how_.name,
                  .caller = from});
    CAIRN_ASSERT(r.view_count.load(memory_order::relaxed) == 0,
                 "the views of a tag end before the tag",
                 {.kind = misuse_kind::outlived,
                  .object = this,
                  .type = "tagged_arenas",
                  .name = r.name,
                  .caller = from,
                  .values = {{"views", r.view_count.load(memory_order::relaxed)}}});
    if (!is_live(t)) { return; }
    if (detail::poison_is_seen()) {
        for (const block* b = r.blocks; b != nullptr; b = b->next) { poison_payload(*b); }
    }
    block* large = nullptr;
    {
        const lock_scope held{mutex_};
        free_count_ += r.block_count;
        block_count_ -= r.block_count;
        if (r.blocks != nullptr) {
            r.oldest->next = free_;
            free_ = r.blocks;
        }
        large = r.large;
        r.open.clear();
        r.blocks = r.oldest = r.large = r.more_open = nullptr;
        r.block_count = 0;
        r.life.store(t.life_ + 1, memory_order::relaxed);
        r.next_free = free_records_;
        free_records_ = &r;
        --tag_count_;
    }
    give_to_upstream(large);
}

// -------------------------------------------------------------------- reports

namespace {

/// Looks for `address` in the blocks from `b` on. Returns: true when one of them has it.
bool find_in(const detail::tag_block* b, const void* address, const char* state,
             detail::address_place& place) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t i = 0; b != nullptr; b = b->next, ++i) {
        if (at < begin_of(*b) || at >= end_of(*b)) { continue; }
        place = {.inside = true,
                 .unit = "block",
                 .index = i,
                 .offset = at - begin_of(*b),
                 .size = b->size - sizeof *b,
                 .state = state};
        return true;
    }
    return false;
}

}  // namespace

/// Blocks are numbered from the newest one of their tag.
detail::address_place tagged_arenas::place_of(const void* object, const void* address) noexcept {
    const auto& self = *static_cast<const tagged_arenas*>(object);
    detail::address_place place;
    if (find_in(self.free_, address, "of no tag", place)) { return place; }
    for (const record_group* g = self.groups_; g != nullptr; g = g->next) {
        for (const record& r : g->records) {
            if (find_in(r.blocks, address, "of a tag that lives", place) ||
                find_in(r.large, address, "large, of a tag that lives", place)) {
                return place;
            }
        }
    }
    return place;
}

// -------------------------------------------------------------------- blocks

detail::tag_block* tagged_arenas::block_from_upstream(std::size_t size) noexcept {
    watch_.expect_not_ended(this, "tagged_arenas");
    {
        const lock_scope held{mutex_};
        if (size > how_.limit_size || taken_size_ > how_.limit_size - size) { return nullptr; }
        taken_size_ += size;
    }
    void* const p = upstream_.allocate(size, block_alignment);
    if (p == nullptr) {
        const lock_scope held{mutex_};
        taken_size_ -= size;
        return nullptr;
    }
    auto* const b = ::new (p) block{};
    b->size = size;
#if CAIRN_ASSERTS
    b->description = watch_.describe(b + 1, size - sizeof *b);
#endif
    poison_payload(*b);
    return b;
}

void tagged_arenas::give_to_upstream(block* first) noexcept {
    std::size_t size = 0;
    while (first != nullptr) {
        block* const b = first;
        first = b->next;
        size += b->size;
#if CAIRN_ASSERTS
        detail::forget_description(b->description);
#endif
        unpoison(b, b->size);
        upstream_.deallocate(b, b->size, block_alignment);
    }
    if (size != 0) {
        const lock_scope held{mutex_};
        taken_size_ -= size;
    }
}

detail::tag_block* tagged_arenas::take_block(record& r) noexcept {
    const auto link = [&](block* b) noexcept {
        b->next = r.blocks;
        b->top = begin_of(*b);
        if (r.blocks == nullptr) { r.oldest = b; }
        r.blocks = b;
        ++r.block_count;
        ++block_count_;
        return b;
    };
    {
        const lock_scope held{mutex_};
        if (block* const b = free_) {
            free_ = b->next;
            --free_count_;
            return link(b);
        }
    }
    block* const b = block_from_upstream(how_.block_size);
    if (b == nullptr) { return nullptr; }
    const lock_scope held{mutex_};
    return link(b);
}

detail::tag_block* tagged_arenas::take_open_block(record& r) noexcept {
    if (block* const b = r.open.take()) { return b; }
    const lock_scope held{mutex_};
    block* const b = r.more_open;
    if (b != nullptr) { r.more_open = b->next_open; }
    return b;
}

void tagged_arenas::give_open_block(record& r, block& b) noexcept {
    if (r.open.give(&b)) { return; }
    const lock_scope held{mutex_};
    b.next_open = r.more_open;
    r.more_open = &b;
}

void* tagged_arenas::allocate_large(record& r, std::size_t size, alignment align) noexcept {
    const std::size_t lead =
        align.bytes() > block_alignment.bytes() ? align.bytes() : block_alignment.bytes();
    if (size > SIZE_MAX - 2 * lead) { return nullptr; }
    // The upstream's blocks are aligned to 64 bytes: an alignment above is made here.
    block* const b = block_from_upstream(size + 2 * lead);
    if (b == nullptr) { return nullptr; }
    const std::uintptr_t at = detail::round_up(begin_of(*b), align);
    unpoison(reinterpret_cast<void*>(at), size);
    const lock_scope held{mutex_};
    b->next = r.large;
    r.large = b;
    return reinterpret_cast<void*>(at);
}

bool tagged_arenas::reserve(std::size_t size) noexcept {
    const std::size_t payload = how_.block_size - sizeof(block);
    for (;;) {
        {
            const lock_scope held{mutex_};
            if (free_count_ * payload >= size) { return true; }
        }
        block* const b = block_from_upstream(how_.block_size);
        if (b == nullptr) { return false; }
        const lock_scope held{mutex_};
        b->next = free_;
        free_ = b;
        ++free_count_;
    }
}

std::size_t tagged_arenas::trim() noexcept {
    block* first = nullptr;
    std::size_t count = 0;
    {
        const lock_scope held{mutex_};
        first = free_;
        count = free_count_;
        free_ = nullptr;
        free_count_ = 0;
    }
    give_to_upstream(first);
    return count * how_.block_size;
}

tagged_arenas::stats_type tagged_arenas::stats() const noexcept {
    const lock_scope held{mutex_};
    return {tag_count_, block_count_, free_count_, taken_size_};
}

// -------------------------------------------------------------------- views

tagged_arenas::view::view(tagged_arenas& owner, tag t, call_site from) noexcept {
    if constexpr (asserts_enabled) { owner.expect_own(t, from); }
    if (!owner.is_live(t)) { return; }
    owner_ = &owner;
    tag_ = t;
    if constexpr (asserts_enabled) { t.record_->view_count.fetch_add(1, memory_order::relaxed); }
}

void tagged_arenas::view::take(view& from) noexcept {
    region_ = from.region_;
    owner_ = from.owner_;
    block_ = from.block_;
    tag_ = from.tag_;
    from.region_ = {};
    from.owner_ = nullptr;
    from.block_ = nullptr;
    from.tag_ = {};
}

void tagged_arenas::view::finish() noexcept {
    if (owner_ == nullptr) { return; }
    if constexpr (asserts_enabled) { tag_.record_->view_count.fetch_sub(1, memory_order::relaxed); }
    if (block_ == nullptr || !owner_->is_live(tag_)) { return; }
    block_->top = region_.top();
    owner_->give_open_block(*tag_.record_, *block_);
}

void tagged_arenas::view::expect_live() const noexcept {
    CAIRN_ASSERT(owner_ == nullptr || owner_->is_live(tag_),
                 "memory of a tag is requested before the end() of the tag",
                 {.kind = misuse_kind::outlived, .object = owner_, .type = "tagged_arenas"});
}

void tagged_arenas::view::expect_block(const void* p, std::size_t size,
                                       call_site from) const noexcept {
    if (p == nullptr || size == 0) { return; }
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto about = [&](misuse_kind kind) noexcept {
        return detail::evidence{.kind = kind,
                                .object = owner_,
                                .type = "tagged_arenas",
                                .name = owner_ != nullptr ? tag_.record_->name : nullptr,
                                .caller = from,
                                .values = {{"bytes", size}}};
    };
    if (region_.owns(p)) {
        CAIRN_ASSERT(region_.contains(p) && size <= region_.top() - address,
                     "a block is freed once, with its size", about(misuse_kind::outlived));
        return;
    }
    detail::address_place place;
    if (owner_ != nullptr && owner_->is_live(tag_)) {
        const lock_scope held{owner_->mutex_};
        if (!find_in(tag_.record_->blocks, p, nullptr, place)) {
            (void)find_in(tag_.record_->large, p, nullptr, place);
        }
    }
    CAIRN_ASSERT(place.inside, "a block comes back to the tag that it was allocated from",
                 about(misuse_kind::foreign_pointer));
    CAIRN_ASSERT(size <= place.size - place.offset, "a block is freed once, with its size",
                 about(misuse_kind::wrong_size));
}

void* tagged_arenas::view::allocate_elsewhere(std::size_t size, alignment align) noexcept {
    if (owner_ == nullptr || !owner_->is_live(tag_)) { return nullptr; }
    detail::tag_record& r = *tag_.record_;
    const std::size_t small = owner_->small_size_max();
    if (size > small || align.bytes() > small - size) {
        return owner_->allocate_large(r, size, align);
    }
    // A block with too little room for this request stays with its tag, and the view goes on.
    for (;;) {
        detail::tag_block* next = owner_->take_open_block(r);
        const bool is_new = next == nullptr;
        if (is_new) { next = owner_->take_block(r); }
        if (next == nullptr) { return nullptr; }
        block_ = next;
        region_ = detail::bump_region::resumed(begin_of(*next), next->top, end_of(*next));
        void* const p = region_.allocate(size, align);
        if (p != nullptr || is_new) { return p; }
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
