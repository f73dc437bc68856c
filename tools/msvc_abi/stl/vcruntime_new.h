// What Microsoft's standard library expects of <vcruntime_new.h>.
#pragma once
#include <vcruntime.h>
namespace std {
struct nothrow_t {
    explicit nothrow_t() = default;
};
extern const nothrow_t nothrow;
enum class align_val_t : size_t {};
}  // namespace std
void* operator new(size_t);
void* operator new(size_t, const std::nothrow_t&) noexcept;
void* operator new(size_t, std::align_val_t);
void* operator new(size_t, std::align_val_t, const std::nothrow_t&) noexcept;
void* operator new[](size_t);
void operator delete(void*) noexcept;
void operator delete(void*, size_t) noexcept;
void operator delete(void*, std::align_val_t) noexcept;
void operator delete(void*, size_t, std::align_val_t) noexcept;
void operator delete(void*, const std::nothrow_t&) noexcept;
void operator delete[](void*) noexcept;
constexpr void* operator new(size_t, void* where) noexcept { return where; }
constexpr void operator delete(void*, void*) noexcept {}
inline void* operator new[](size_t, void* where) noexcept { return where; }
inline void operator delete[](void*, void*) noexcept {}
#define __PLACEMENT_NEW_INLINE
#define __PLACEMENT_VEC_NEW_INLINE
