// Cold half of cairn/containers/table/memory.hpp: everything that happens once per growth, sort or
// copy, written over bytes so that it compiles once for all row types.
#include <cairn/containers/table/memory.hpp>

#include <cstring>

#include <cairn/core/bits.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/growth.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

namespace {

/// The strips of a block, whatever the layout: `visit(first byte, rows)` for each run of rows
/// [first, first + count) that lies together in strip s.
template <class Visit>
void for_each_run(const shape& form, std::byte* base, std::size_t capacity, std::size_t s,
                  std::size_t first, std::size_t count, Visit visit) {
    const strip& column = form.strips[s];
    if (form.lanes == 0) {
        if (count != 0) {
            visit(base + capacity * column.before + s * form.skew + first * column.size, count);
        }
        return;
    }
    while (count != 0) {
        const std::size_t lane = first % form.lanes;
        const std::size_t run = form.lanes - lane < count ? form.lanes - lane : count;
        visit(base + first / form.lanes * form.block_bytes + column.before + lane * column.size,
              run);
        first += run;
        count -= run;
    }
}

/// Element `row` of strip s.
std::byte* element_of(const shape& form, std::byte* base, std::size_t capacity, std::size_t s,
                      std::size_t row) {
    const strip& column = form.strips[s];
    if (form.lanes == 0) {
        return base + capacity * column.before + s * form.skew + row * column.size;
    }
    return base + row / form.lanes * form.block_bytes + column.before +
           row % form.lanes * column.size;
}

void destroy_strip(const shape& form, std::byte* base, std::size_t capacity, std::size_t s,
                   std::size_t first, std::size_t count) noexcept {
    const strip& column = form.strips[s];
    if (column.destroy != nullptr) {
        for_each_run(form, base, capacity, s, first, count,
                     [&](std::byte* at, std::size_t n) { column.destroy(at, n); });
    }
}

/// Copies or moves strip s of `from` into `to`; runs have equal lengths in both.
void construct_strip(const shape& form, table_memory::block to, std::byte* from,
                     std::size_t from_capacity, std::size_t s, std::size_t count) {
    const strip& column = form.strips[s];
    struct undo {
        const shape& form;
        table_memory::block to;
        std::size_t s;
        std::size_t made = 0;
        bool done = false;
        ~undo() {
            if (!done) { destroy_strip(form, to.base, to.capacity, s, 0, made); }
        }
    } guard{form, to, s};
    for_each_run(form, from, from_capacity, s, 0, count, [&](std::byte* source, std::size_t n) {
        std::byte* const target = element_of(form, to.base, to.capacity, s, guard.made);
        if (column.construct != nullptr) {
            column.construct(target, source, n);
        } else {
            std::memcpy(target, source, n * column.size);
        }
        guard.made += n;
    });
    guard.done = true;
}

}  // namespace

std::size_t block_size(const shape& form, std::size_t capacity) noexcept {
    if (capacity == 0) { return 0; }
    const std::size_t blocks = form.lanes != 0 ? capacity / form.lanes : capacity;
    return saturating_add(saturating_multiply(blocks, form.block_bytes),
                          (form.strip_count - 1) * form.skew);
}

std::size_t rounded_capacity(const shape& form, std::size_t rows) noexcept {
    std::size_t multiple = form.granule;
    if (rows > 64 && multiple < 64) { multiple = 64; }
    const std::size_t padded = saturating_add(rows, multiple - 1);
    return padded == SIZE_MAX ? SIZE_MAX : padded / multiple * multiple;
}

table_memory::block table_memory::allocate_block(const shape& form, std::size_t rows) noexcept {
    const std::size_t capacity = rounded_capacity(form, rows);
    const std::size_t bytes = block_size(form, capacity);
    if (capacity == SIZE_MAX || bytes > PTRDIFF_MAX) { return {}; }
    auto* const base = static_cast<std::byte*>(memory_.allocate(bytes, alignment{form.line}));
    if (base == nullptr) { return {}; }
    // After the rows, which are nearly always larger: what a column has taken it keeps.
    for (table_follower* f = followers_; f != nullptr; f = f->next) {
        if (!f->reserve(*f, capacity)) {
            memory_.deallocate(base, bytes, alignment{form.line});
            return {};
        }
    }
    // Clear what will not be overwritten by the rows that move in: the tail that kernels may read.
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        if (form.strips[s].construct == nullptr) {
            for_each_run(
                form, base, capacity, s, size_, capacity - size_,
                [&](std::byte* at, std::size_t n) { std::memset(at, 0, n * form.strips[s].size); });
        }
    }
    return {base, capacity};
}

void table_memory::free_block(const shape& form, block b) noexcept {
    if (b.base != nullptr) {
        const std::size_t bytes = block_size(form, b.capacity);
        if constexpr (poison_is_watched) { unpoison(b.base, bytes); }
        memory_.deallocate(b.base, bytes, alignment{form.line});
    }
}

void table_memory::move_into(const shape& form, block fresh) {
    struct undo {
        const shape& form;
        block to;
        std::size_t rows;
        std::size_t reached = 0;  // strips before this one are made, if they may throw
        ~undo() {
            while (reached != 0) {
                if (form.strips[--reached].may_throw) {
                    destroy_strip(form, to.base, to.capacity, reached, 0, rows);
                }
            }
        }
    } guard{form, fresh, size_};
    // Strips whose construction may throw come first: they copy, and the old rows stay whole until
    // nothing can fail any more.
    for (; guard.reached < form.strip_count; ++guard.reached) {
        if (form.strips[guard.reached].may_throw) {
            construct_strip(form, fresh, base_, pitch_, guard.reached, size_);
        }
    }
    guard.reached = 0;
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        if (!form.strips[s].may_throw) { construct_strip(form, fresh, base_, pitch_, s, size_); }
    }
    if (base_ != nullptr) {
        destroy_rows(form, 0, size_);
        free_block(form, {base_, capacity_});
    }
    base_ = fresh.base;
    capacity_ = pitch_ = fresh.capacity;
    if constexpr (poison_is_watched) { repoison(form, capacity_, size_); }
}

table_memory::block table_memory::allocate_larger_block(const shape& form) noexcept {
    const std::size_t doubled = saturating_multiply(capacity_, 2);
    block fresh;
    grow_by_halves(capacity_, size_ + 1, doubled < form.granule ? form.granule : doubled,
                   [&](std::size_t rows) {
                       fresh = allocate_block(form, rows);
                       return fresh.base != nullptr;
                   });
    return fresh;
}

namespace {

/// Moves all rows into a block for `rows` rows. False: no memory, or also() says so; nothing has
/// changed then.
bool move_to_new_block(table_memory& m, const shape& form, std::size_t rows,
                       reserve_step also = {}) {
    struct guard {
        table_memory& m;
        const shape& form;
        table_memory::block fresh;
        ~guard() { m.free_block(form, fresh); }
    } g{m, form, m.allocate_block(form, rows)};
    if (g.fresh.base == nullptr || !also()) { return false; }
    m.move_into(form, g.fresh);
    g.fresh = {};
    return true;
}

}  // namespace

bool table_memory::reserve(const shape& form, std::size_t rows, reserve_step also) {
    if (rows <= capacity_) { return also(); }
    return is_reserved_ ? rows <= pitch_ && also() && commit_rows(form, rows)
                        : move_to_new_block(*this, form, rows, also);
}

bool table_memory::shrink_to_fit(const shape& form) {
    if (is_reserved_ || rounded_capacity(form, size_) == capacity_) { return true; }
    if (size_ != 0) { return move_to_new_block(*this, form, size_); }
    free_block(form, {base_, capacity_});
    base_ = nullptr;
    capacity_ = pitch_ = 0;
    return true;
}

void table_memory::destroy_rows(const shape& form, std::size_t first, std::size_t count) noexcept {
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        destroy_strip(form, base_, pitch_, s, first, count);
    }
}

void table_memory::release(const shape& form) noexcept {
    if (base_ != nullptr) {
        destroy_rows(form, 0, size_);
        if (is_reserved_) {
            const std::size_t bytes = block_size(form, pitch_);
            if constexpr (poison_is_watched) { unpoison(base_, bytes); }
            page_memory::release(base_, page_memory::round_up_to_pages(bytes));
        } else {
            free_block(form, {base_, capacity_});
        }
    }
    base_ = nullptr;
    size_ = capacity_ = pitch_ = 0;
    is_reserved_ = false;
}

bool table_memory::permute(const shape& form, std::uint32_t* order) {
    // The widest column is gathered into scratch and copied back: sequential writes twice, random
    // reads once. Following the cycles in place would be random both ways. Columns of other types,
    // and blocks of lanes, follow the cycles.
    std::size_t widest = 0;
    bool follows_cycles = false;
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        if (form.strips[s].permute == nullptr) {
            widest = form.strips[s].size > widest ? form.strips[s].size : widest;
        } else {
            follows_cycles = true;
        }
    }
    const std::size_t order_bytes = follows_cycles ? size_ * sizeof(std::uint32_t) : 0;
    const std::size_t scratch_bytes = round_up(size_ * widest, default_alignment) + order_bytes;
    if (size_ < 2) { return true; }
    auto* const scratch =
        static_cast<std::byte*>(memory_.allocate(scratch_bytes, default_alignment));
    if (scratch == nullptr) { return false; }
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        const strip& column = form.strips[s];
        if (column.permute == nullptr) {
            const auto gather = [&]<std::size_t Size>() {
                const std::size_t size = Size != 0 ? Size : column.size;
                for (std::size_t i = 0; i < size_; ++i) {
                    std::memcpy(scratch + i * size, element_of(form, base_, pitch_, s, order[i]),
                                size);
                }
            };
            switch (column.size) {
                case 4:
                    gather.operator()<4>();
                    break;
                case 8:
                    gather.operator()<8>();
                    break;
                case 12:
                    gather.operator()<12>();
                    break;
                case 16:
                    gather.operator()<16>();
                    break;
                default:
                    gather.operator()<0>();
                    break;
            }
            std::size_t done = 0;
            for_each_run(form, base_, pitch_, s, 0, size_, [&](std::byte* at, std::size_t n) {
                std::memcpy(at, scratch + done * column.size, n * column.size);
                done += n;
            });
        }
    }
    if (follows_cycles) {
        auto* const copy = reinterpret_cast<std::uint32_t*>(scratch + scratch_bytes - order_bytes);
        for (std::size_t s = 0; s < form.strip_count; ++s) {
            const strip& column = form.strips[s];
            if (column.permute != nullptr) {
                std::memcpy(copy, order, order_bytes);
                column.permute(element_of(form, base_, pitch_, s, 0), form.lanes, form.block_bytes,
                               copy, size_);
            }
        }
    }
    for (table_follower* f = followers_; f != nullptr; f = f->next) {
        f->permuted(*f, order, size_);
    }
    memory_.deallocate(scratch, scratch_bytes, default_alignment);
    return true;
}

void table_memory::poison_rows(const shape& form, std::size_t first, std::size_t count) noexcept {
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        for_each_run(form, base_, pitch_, s, first, count,
                     [&](std::byte* at, std::size_t n) { poison(at, n * form.strips[s].size); });
    }
}

void table_memory::repoison(const shape& form, std::size_t old_rows, std::size_t rows) noexcept {
    if (base_ == nullptr) { return; }
    const std::size_t before = old_rows < capacity_ ? padded_rows(form, old_rows) : capacity_;
    const std::size_t readable = padded_rows(form, rows);
    if (readable <= before) {
        poison_rows(form, readable, before - readable);
        return;
    }
    for (std::size_t s = 0; s < form.strip_count; ++s) {
        for_each_run(
            form, base_, pitch_, s, before, readable - before,
            [&](std::byte* at, std::size_t n) { unpoison_defined(at, n * form.strips[s].size); });
    }
}

void table_memory::follow(table_follower& f) noexcept {
    f.next = followers_;
    followers_ = &f;
}

void table_memory::unfollow(table_follower& f) noexcept {
    for (table_follower** at = &followers_; *at != nullptr; at = &(*at)->next) {
        if (*at == &f) {
            *at = f.next;
            return;
        }
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
