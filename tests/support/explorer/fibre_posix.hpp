// tests/support/explorer/fibre_posix.hpp - fibre.hpp on ucontext.
#pragma once

#include <ucontext.h>

#include <cstdlib>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#    define EXPLORER_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define EXPLORER_ASAN 1
#    endif
#endif
#if defined(EXPLORER_ASAN)
extern "C" {
void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* save, const void** bottom, std::size_t* size);
}
#endif

namespace explorer {

class fibre {
public:
    friend void begin(fibre& f, void (*run)()) {
        if (!f.stack_) { f.stack_ = std::make_unique<char[]>(stack_size); }
        f.bottom_ = f.stack_.get();
        f.size_ = stack_size;
        f.fake_stack_ = nullptr;
        getcontext(&f.context_);
        f.context_.uc_stack.ss_sp = f.stack_.get();
        f.context_.uc_stack.ss_size = stack_size;
        f.context_.uc_link = nullptr;
        makecontext(&f.context_, run, 0);
    }

    /// Goes on at `to`; returns when a switch leads back to `from`. `ends`: none will.
    friend void switch_fibres(fibre& from, fibre& to, [[maybe_unused]] bool ends) {
#if defined(EXPLORER_ASAN)
        // without a place to save it, the fake stack is freed
        __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack_, to.bottom_, to.size_);
#endif
        swapcontext(&from.context_, &to.context_);
#if defined(EXPLORER_ASAN)
        __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
    }

    /// `home`: the system thread's, whose bounds are set here, once.
    friend void arrive([[maybe_unused]] fibre& home) {
#if defined(EXPLORER_ASAN)
        const void* bottom = nullptr;
        std::size_t size = 0;
        __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
        if (home.bottom_ == nullptr) { home.bottom_ = bottom, home.size_ = size; }
#endif
    }

private:
    static constexpr std::size_t stack_size = std::size_t{128} << 10;

    std::unique_ptr<char[]> stack_;
    ucontext_t context_;
    [[maybe_unused]] const void* bottom_ = nullptr;
    [[maybe_unused]] std::size_t size_ = 0;
    [[maybe_unused]] void* fake_stack_ = nullptr;
};

/// It is not: the next begin() starts at the top of the stack.
[[noreturn]] inline void is_begun_anew() { std::abort(); }

}  // namespace explorer
