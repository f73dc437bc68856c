// The heap under another project's own tests (tools/prove-clients), chosen by the environment:
//
//     CAIRN_CLIENT_HEAP=best_fit       good_fit, quick_fit, strict_good_fit, best_fit, first_fit,
//                                      half_fit, guarded
//     CAIRN_CLIENT_REPORT=FILE         at exit a line goes there: what was asked for, what is still live
//
// The whole heap is validated after every 20,000th call, and at exit.
#pragma once

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/debug/guarded.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

namespace clients {

class memory {
public:
    virtual ~memory() = default;

    void* allocate(std::size_t size) {
        const std::scoped_lock lock{mutex_};
        return took(take(size));
    }
    // `size`: what was asked for. `usable_size(p)` serves clients that do not keep it.
    void deallocate(void* p, std::size_t size) {
        const std::scoped_lock lock{mutex_};
        if (p == nullptr) { return; }
        give_back(p, size);
        gone();
    }
    // In place when that works, else a new block and a copy; null, and the old block stays.
    void* resize(void* p, std::size_t old_size, std::size_t new_size) {
        const std::scoped_lock lock{mutex_};
        if (try_resize(p, old_size, new_size)) {
            ++resized_in_place_count_;
            called();
            return p;
        }
        void* const moved = took(take(new_size));
        if (moved == nullptr) { return nullptr; }
        std::memcpy(moved, p, old_size < new_size ? old_size : new_size);
        give_back(p, old_size);
        gone();
        return moved;
    }
    virtual std::size_t usable_size(void* p) const = 0;
    virtual std::size_t good_size(std::size_t size) const = 0;
    virtual void validate() const = 0;

    void report(const char* file) const {
        validate();
        std::FILE* const out = std::fopen(file, "a");
        if (out == nullptr) { std::abort(); }
        std::fprintf(out, "%zu calls, %zu resized in place, %zu blocks live\n", call_count_,
                     resized_in_place_count_, live_count_);
        std::fclose(out);
    }

private:
    virtual void* take(std::size_t size) = 0;
    virtual void give_back(void* p, std::size_t size) = 0;
    virtual bool try_resize(void* p, std::size_t old_size, std::size_t new_size) = 0;

    void called() {
        if (++call_count_ % 20'000 == 0) { validate(); }
    }
    void* took(void* p) {
        live_count_ += p != nullptr;
        called();
        return p;
    }
    void gone() {
        --live_count_;
        called();
    }

    std::mutex mutex_;  // SQLite asks from several threads where it keeps no statistics
    std::size_t call_count_ = 0;
    std::size_t resized_in_place_count_ = 0;
    std::size_t live_count_ = 0;
};

template <class Heap>
class memory_on final : public memory {
public:
    template <class... Args>
    explicit memory_on(const Args&... args) : heap_{args...} {}

    // guarded knows neither; Lua asks for neither.
    std::size_t usable_size(void* p) const override {
        if constexpr (requires { heap_.usable_size(p); }) { return heap_.usable_size(p); }
        std::abort();
    }
    std::size_t good_size(std::size_t size) const override {
        if constexpr (requires { heap_.good_size(size); }) { return heap_.good_size(size); }
        std::abort();
    }
    void validate() const override { heap_.validate(); }

private:
    void* take(std::size_t size) override { return heap_.allocate(size); }
    void give_back(void* p, std::size_t size) override { heap_.deallocate(p, size); }
    bool try_resize(void* p, std::size_t old_size, std::size_t new_size) override {
        return heap_.try_resize(p, old_size, new_size);
    }

    Heap heap_;
};

inline memory* make_memory(std::string_view name) {
    const cairn::grow_by growth{std::size_t{1} << 20};
    if (name == "good_fit") { return new memory_on<cairn::heap<cairn::good_fit>>{growth}; }
    if (name == "quick_fit") { return new memory_on<cairn::heap<cairn::quick_fit>>{growth}; }
    if (name == "strict_good_fit") {
        return new memory_on<cairn::heap<cairn::strict_good_fit>>{growth};
    }
    if (name == "best_fit") { return new memory_on<cairn::heap<cairn::best_fit>>{growth}; }
    if (name == "first_fit") { return new memory_on<cairn::heap<cairn::first_fit>>{growth}; }
    if (name == "half_fit") { return new memory_on<cairn::heap<cairn::half_fit>>{growth}; }
    if (name == "guarded") {
        return new memory_on<cairn::guarded<cairn::heap<cairn::good_fit>>>{
            cairn::guard_options{.quarantine_count = 200}, growth};
    }
    std::fprintf(stderr, "there is no heap '%s'\n", name.data());
    std::exit(2);
}

// The one of this process: it is made at the first call and lives until the end.
inline memory& heap_of_choice() {
    static memory* const chosen = [] {
        const char* const name = std::getenv("CAIRN_CLIENT_HEAP");
        memory* const made = make_memory(name != nullptr ? name : "good_fit");
        std::atexit([] {
            if (const char* const file = std::getenv("CAIRN_CLIENT_REPORT")) {
                heap_of_choice().report(file);
            }
        });
        return made;
    }();
    return *chosen;
}

}  // namespace clients
