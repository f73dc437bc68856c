// What Microsoft's standard library expects of <vcruntime_exception.h>.
#pragma once
#include <vcruntime.h>
struct __std_exception_data {
    const char* _What;
    bool _DoFree;
};
extern "C" {
void __cdecl __std_exception_copy(const __std_exception_data*, __std_exception_data*);
void __cdecl __std_exception_destroy(__std_exception_data*);
}
namespace std {
class exception {
public:
    exception() noexcept : _Data() {}
    explicit exception(const char* const what) noexcept : _Data() {
        __std_exception_data from = {what, true};
        __std_exception_copy(&from, &_Data);
    }
    exception(const char* const what, int) noexcept : _Data() { _Data._What = what; }
    exception(const exception& other) noexcept : _Data() {
        __std_exception_copy(&other._Data, &_Data);
    }
    exception& operator=(const exception& other) noexcept {
        if (this != &other) {
            __std_exception_destroy(&_Data);
            __std_exception_copy(&other._Data, &_Data);
        }
        return *this;
    }
    virtual ~exception() noexcept { __std_exception_destroy(&_Data); }
    [[nodiscard]] virtual const char* what() const {
        return _Data._What ? _Data._What : "Unknown exception";
    }

private:
    __std_exception_data _Data;
};
class bad_exception : public exception {
public:
    bad_exception() noexcept : exception("bad exception", 1) {}
};
class bad_array_new_length;
class bad_alloc : public exception {
public:
    bad_alloc() noexcept : exception("bad allocation", 1) {}

private:
    friend bad_array_new_length;
    bad_alloc(const char* const what) noexcept : exception(what, 1) {}
};
class bad_array_new_length : public bad_alloc {
public:
    bad_array_new_length() noexcept : bad_alloc("bad array new length") {}
};
}  // namespace std
using terminate_handler = void(__cdecl*)();
extern "C" {
[[noreturn]] void __cdecl terminate() noexcept;
terminate_handler __cdecl set_terminate(terminate_handler) noexcept;
terminate_handler __cdecl _get_terminate();
}
