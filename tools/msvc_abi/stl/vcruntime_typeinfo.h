// What Microsoft's standard library expects of <vcruntime_typeinfo.h>.
#pragma once
#include <vcruntime_exception.h>
class type_info {
public:
    type_info(const type_info&) = delete;
    type_info& operator=(const type_info&) = delete;
    size_t hash_code() const noexcept;
    bool operator==(const type_info&) const noexcept;
    bool before(const type_info&) const noexcept;
    const char* name() const noexcept;
    const char* raw_name() const noexcept;
    virtual ~type_info() noexcept;
};
namespace std {
using ::type_info;
class bad_cast : public exception {
public:
    bad_cast() noexcept : exception("bad cast", 1) {}
};
class bad_typeid : public exception {
public:
    bad_typeid() noexcept : exception("bad typeid", 1) {}
};
}  // namespace std
