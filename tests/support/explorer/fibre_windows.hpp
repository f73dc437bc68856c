// tests/support/explorer/fibre_windows.hpp - fibre.hpp on fibres of Windows.
#pragma once

#if !defined(WIN32_LEAN_AND_MEAN)
#    define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#    define NOMINMAX
#endif
#include <windows.h>

namespace explorer {

class fibre {
public:
    fibre() = default;
    fibre(const fibre&) = delete;
    fibre& operator=(const fibre&) = delete;
    ~fibre() {
        if (system_ == nullptr) { return; }
        if (run_ == nullptr) {
            ::ConvertFiberToThread();
        } else {
            ::DeleteFiber(system_);
        }
    }

    /// Making a stack costs more than a whole execution, so a finished one is used again: run() returns
    /// when it is begun anew, and is called once more.
    friend void begin(fibre& f, void (*run)()) {
        f.run_ = run;
        if (f.system_ == nullptr) {
            f.system_ = ::CreateFiberEx(stack_size, stack_size, 0, &fibre::forever, &f);
        }
    }

    friend void switch_fibres(fibre& from, fibre& to, bool) {
        if (from.system_ == nullptr) { from.system_ = ::ConvertThreadToFiber(nullptr); }
        ::SwitchToFiber(to.system_);
    }

    friend void arrive(fibre&) {}

private:
    static constexpr std::size_t stack_size = std::size_t{128} << 10;

    static void WINAPI forever(void* self) {
        while (true) { static_cast<fibre*>(self)->run_(); }
    }

    void* system_ = nullptr;
    void (*run_)() = nullptr;  // none: the system thread
};

/// So it is: run() returns, to be called again.
inline void is_begun_anew() {}

}  // namespace explorer
