// Objects of odd types in everything that holds objects: types that convert from or to anything, have
// an overloaded operator& and comma, cannot move, are aligned to a page, have bit-fields ... Each use
// builds some objects, reads them back and ends. No object is left, and none has moved by its bytes.
#include <cairn/cairn.hpp>
#include <cairn/std/deferred_in.hpp>
#include <cairn/std/std_allocator.hpp>
#include <cairn/std/unique_in.hpp>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace odd {

/// Counts the living, and knows its address: bytes that move without their object are found.
class tally {
public:
    static inline int living = 0;
    static inline int lost = 0;

    tally() noexcept { ++living; }
    tally(const tally&) noexcept : tally{} {}
    tally& operator=(const tally&) noexcept { return *this; }
    ~tally() {
        --living;
        lost += self_ != this ? 1 : 0;
    }

private:
    const tally* self_ = this;
};

#if defined(__cpp_exceptions)
inline void refuse(int v) {
    if (v == 100) { throw v; }
}
#else
inline void refuse(int) {}
#endif

/// From anything; from an object of its own that is not const, too.
struct greedy {
    int v = 0;
    tally t;
    greedy() = default;
    greedy(const greedy&) = default;
    greedy& operator=(const greedy&) = default;
    greedy(greedy&& other) noexcept : v{other.v} {}
    greedy& operator=(greedy&& other) noexcept {
        v = other.v;
        return *this;
    }
    explicit greedy(int i) : v{i} {}
    template <class T>
    greedy(T&&) : v{-1} {}
    template <class T>
    greedy& operator=(T&&) {
        v = -2;
        return *this;
    }
    template <class T>
    bool operator==(const T&) const = delete;
};
/// To anything.
struct generous {
    int v = 0;
    tally t;
    generous() = default;
    explicit generous(int i) : v{i} {}
    template <class T>
        requires(!std::is_same_v<T, generous>)
    operator T() const = delete;
    template <class T>
        requires(!std::is_same_v<T, generous>)
    operator T&() const = delete;
};
/// Without an address, and no operand of anything.
struct closed {
    int v = 0;
    tally t;
    closed() = default;
    explicit closed(int i) : v{i} {}
    void operator&() const = delete;
    template <class A>
    void operator,(A&&) const = delete;
    template <class A>
    friend void operator,(A&&, const closed&) = delete;
    void operator!() const = delete;
    template <class A>
    void operator&&(A&&) const = delete;
    template <class A>
    void operator||(A&&) const = delete;
    template <class A>
    void operator->*(A&&) const = delete;
};
struct move_only {
    int v = 0;
    tally t;
    move_only() = default;
    explicit move_only(int i) : v{i} {}
    move_only(move_only&&) = default;
    move_only& operator=(move_only&&) = default;
};
struct fixed {
    int v = 0;
    tally t;
    fixed() = default;
    explicit fixed(int i) : v{i} {}
    fixed(const fixed&) = delete;
    fixed& operator=(const fixed&) = delete;
};
struct throwing {
    int v = 0;
    tally t;
    throwing() noexcept(false) {}
    explicit throwing(int i) : v{i} { refuse(i); }
};
struct alignas(4096) page {
    int v = 0;
    tally t;
    page() = default;
    explicit page(int i) : v{i} {}
};
struct base {
    int v = 0;
    virtual ~base() = default;
};
struct left : virtual base {};
struct right : virtual base {};
struct diamond : left, right {
    tally t;
    diamond() = default;
    explicit diamond(int i) { v = i; }
};
/// `listed(7)`, and never the list of one element that braces would make.
struct listed {
    int v = 0;
    tally t;
    listed() = default;
    explicit listed(int i) : v{i} {}
    listed(std::initializer_list<int>) : v{-3} {}
    listed(std::initializer_list<listed>) : v{-4} {}
};
/// Its own memory is no memory of a container.
struct private_new {
    int v = 0;
    tally t;
    private_new() = default;
    explicit private_new(int i) : v{i} {}

private:
    static void* operator new(std::size_t);
    static void* operator new(std::size_t, void*);
    static void operator delete(void*);
};

// Bytes.
struct three_bytes {
    unsigned char v[3];
};
struct bits {
    unsigned v : 7;
    unsigned rest : 3;
    bool is_set : 1;
};
struct aggregate {
    int v;
    const char* name;
    double numbers[3];
};
struct changes {
    volatile int v;
    int other;
};
/// The address of an object that may have no operator&.
template <class T>
const void* address(const T& object) {
    return std::addressof(object);
}

}  // namespace odd

namespace {

int failures = 0;
void must(bool good, int line, const char* type) {
    if (good) { return; }
    std::printf("tests/user_code/odd_elements.cpp:%d: not so for %s\n", line, type);
    ++failures;
}
#define MUST(...) must(static_cast<bool>(__VA_ARGS__), __LINE__, name_of<T>())

template <class T>
const char* name_of() {
    return __PRETTY_FUNCTION__;
}

/// An object without a constructor of int, made from `i`.
template <class T>
T value(int i) {
    if constexpr (std::is_same_v<T, bool>) {
        return static_cast<T>(i);
    } else if constexpr (std::is_same_v<T, odd::three_bytes>) {
        return {{static_cast<unsigned char>(i), 0, 0}};
    } else if constexpr (std::is_same_v<T, odd::bits>) {
        odd::bits b{};
        b.v = static_cast<unsigned>(i) & 127u;
        b.is_set = true;
        return b;
    } else {
        T object{};
        object.v = i;
        return object;
    }
}
/// Whether `object` was built from `i`.
template <class T>
bool is(const T& object, int i) {
    if constexpr (std::is_same_v<T, odd::three_bytes>) {
        return object.v[0] == i;
    } else if constexpr (requires { object.v; }) {
        return static_cast<int>(object.v) == i;
    } else {
        return object == value<T>(i);
    }
}
/// make(args) for an object of `i`.
template <class T, class Make>
decltype(auto) build(int i, Make make) {
    if constexpr (std::is_class_v<T> && std::is_constructible_v<T, int> &&
                  !std::is_aggregate_v<T>) {
        return make(i);
    } else {
        return make(value<T>(i));
    }
}
#define FROM(i, ...) build<T>(i, [&](auto&&... from) -> decltype(auto) { return __VA_ARGS__; })
#define ARGS std::forward<decltype(from)>(from)...

template <class T>
constexpr bool moves = std::is_move_constructible_v<T>;

template <class T>
void use_allocators() {
    cairn::heap<> heap;
    T* const one = FROM(7, cairn::make<T>(heap, ARGS));
    MUST(is(*one, 7));
    cairn::destroy(heap, one);
    {
        auto owner = FROM(8, cairn::make_unique_in<T>(heap, ARGS));
        MUST(is(*owner, 8));
        auto several = cairn::make_unique_in<T[]>(heap, 3);
        MUST(several);
        cairn::destruction_queue<T> waiting{heap};
        auto later = FROM(9, cairn::make_deferred_in(waiting, ARGS));
        MUST(is(*later, 9));
    }
    if constexpr (moves<T> && !std::is_same_v<T, bool>) {
        const cairn::std_allocator<T> memory{heap};
        std::vector<T, cairn::std_allocator<T>> list(memory);  // braces: a list of one greedy
        for (int i = 0; i < 20; ++i) { FROM(i, static_cast<void>(list.emplace_back(ARGS))); }
        MUST(is(list[19], 19));
    }
    heap.validate();
}

template <class T>
void use_pools() {
    cairn::pool_of<T> pool;
    T* first[20];
    for (int i = 0; i < 20; ++i) { first[i] = FROM(i, pool.make(ARGS)); }
    for (int i = 0; i < 20; ++i) { MUST(is(*first[i], i)); }
    pool.destroy(first[3]);
    int count = 0;
    pool.for_each([&](T&) { ++count; });
    MUST(count == 19);
    pool.destroy_all();
    cairn::concurrent_pool_of<T> shared;
    T* const one = FROM(5, shared.make(ARGS));
    MUST(is(*one, 5));
    shared.destroy(one);
}

template <class T, class Pool>
void use_object_pool() {
    Pool pool;
    MUST(pool.prewarm(5));
    {
        auto one = pool.acquire();
        auto other = pool.acquire();
        MUST(one && other);
        MUST(static_cast<const void*>(odd::address(*one)) != odd::address(*other));
        T* const third = pool.acquire_raw();
        pool.release(*third);
    }
    if constexpr (requires { pool.trim(std::size_t{1}); }) {
        (void)pool.trim(std::size_t{1});
    } else {
        (void)pool.trim();
    }
    pool.validate();
}

template <class T>
void use_arenas() {
    cairn::growing_arena arena;
    if constexpr (std::is_trivially_destructible_v<T>) {
        MUST(is(*FROM(3, arena.make<T>(ARGS)), 3));
        MUST(arena.make_array<T>(4).size() == 4);
    }
    cairn::arena_scope scope{arena};
    T* const one = FROM(7, scope.template make<T>(ARGS));
    const auto several = scope.template make_array<T>(5);
    MUST(is(*one, 7));
    MUST(several.size() == 5);
    if constexpr (moves<T>) {
        cairn::builder<T> list{arena, 1};
        for (int i = 0; i < 20; ++i) {
            MUST(FROM(i, list.emplace_back(ARGS)));
            MUST(list.push_back(std::move(list[0])));
            list.pop_back();
        }
        const auto all = list.finish();
        MUST(all.size() == 20);
        MUST(is(all[19], 19));
        for (T& each : all) { each.~T(); }
    }
}

template <class T, class Map>
void use_owners() {
    cairn::deferred_store<Map> ends_later{cairn::destroys::in_collect};
    {
        auto one = FROM(4, ends_later.make(ARGS));
        auto other = FROM(5, ends_later.make(ARGS));
        MUST(is(*one, 4));
        one = std::move(other);
        MUST(is(*one.get(), 5));
    }
    ends_later.collect();
    MUST(ends_later.empty());
    cairn::shared_store<Map> counted;
    auto one = FROM(6, counted.make(ARGS));
    auto same = one;
    MUST(is(*same, 6));
    MUST(counted.lock(one.handle()) == same);
    cairn::shared_store<Map, cairn::atomic_count> of_threads;
    auto other = FROM(6, of_threads.make(ARGS));
    MUST(is(*other, 6));
    Map map;
    cairn::unique_handle owner{map, FROM(2, map.emplace(ARGS))};
    MUST(is(*owner, 2));
}

template <class T>
void use_threads() {
    cairn::per_thread<T> each;
    MUST(each.local());
    each.update([](T&) {});
    int count = 0;
    each.for_each([&](T&) { ++count; });
    MUST(count == 65);
    if constexpr (std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> &&
                  std::is_copy_assignable_v<T> && moves<T>) {
        cairn::message_queue<T> queue{{.capacity = 4}};
        MUST(queue.try_push(value<T>(3)));
        T got = value<T>(1);
        MUST(queue.try_pop(got));
        MUST(is(got, 3));
    }
}

/// Objects of a collected heap are of a class that says what it refers to.
template <class T>
struct collected {
    template <class... From>
    explicit collected(int, From&&... from) : object(std::forward<From>(from)...) {}
    T object;
    using references = cairn::refers_to<>;
};

template <class T>
void use_movable() {
    if constexpr (moves<T>) {
        cairn::relocatable_heap heap{1 << 20};
        auto first = FROM(1, heap.make<T>(ARGS));
        auto one = FROM(7, heap.make<T>(ARGS));
        heap.destroy(first);
        heap.compact();
        MUST(is(*one, 7));
        {
            const auto pin = one.pin();
            MUST(is(*pin, 7));
        }
        heap.validate();
        heap.destroy(one);
    }
    cairn::collected_heap heap{std::size_t{1} << 20};
    {
        cairn::root<collected<T>> one = FROM(3, heap.make<collected<T>>(0, ARGS));
        MUST(is(one->object, 3));
        heap.collect();
        heap.compact();
        MUST(is(one->object, 3));
    }
    heap.collect();
}

template <class T>
void use() {
    use_allocators<T>();
    use_pools<T>();
    use_object_pool<T, cairn::object_pool<T>>();
    use_object_pool<T, cairn::concurrent_object_pool<T>>();
    use_arenas<T>();
    use_owners<T, cairn::stable_slot_map<T>>();
    if constexpr (moves<T>) { use_owners<T, cairn::slot_map<T>>(); }
    use_threads<T>();
    use_movable<T>();
    MUST(odd::tally::living == 0);
    MUST(odd::tally::lost == 0);
}

template <class... T>
void use_each() {
    (use<T>(), ...);
}

#if defined(__cpp_exceptions)
/// A constructor throws, and the memory has gone back.
template <class T, class Make>
void must_throw(Make make) {
    bool has_thrown = false;
    try {
        make();
    } catch (int) { has_thrown = true; }
    MUST(has_thrown);
}
void use_throwing() {
    using T = odd::throwing;
    cairn::budget<cairn::heap<>> memory{1 << 20};
    const std::size_t before = memory.live_size();
    {
        must_throw<T>([&] { (void)cairn::make<T>(memory, 100); });
        cairn::pool_of<T> pool{memory};
        must_throw<T>([&] { (void)pool.make(100); });
        MUST(pool.stats().live_count == 0);
        cairn::growing_arena arena{memory};
        cairn::arena_scope scope{arena};
        must_throw<T>([&] { (void)scope.make<T>(100); });
        cairn::builder<T> list{memory};
        must_throw<T>([&] { (void)list.emplace_back(100); });
        MUST(list.empty());
        cairn::deferred_store<cairn::stable_slot_map<T>> store{memory};
        must_throw<T>([&] { (void)store.make(100); });
        MUST(store.empty());
        cairn::relocatable_heap movable{1 << 16, memory};
        must_throw<T>([&] { (void)movable.make<T>(100); });
        MUST(movable.object_count() == 0);
    }
    MUST(memory.live_size() == before);
    MUST(odd::tally::living == 0);
}
#else
void use_throwing() {}
#endif

}  // namespace

int main() {
    use_each<odd::greedy, odd::generous, odd::closed, odd::move_only, odd::fixed, odd::page,
             odd::diamond, odd::listed, odd::private_new>();
    use_each<odd::three_bytes, odd::bits, odd::aggregate, odd::changes, bool>();
    use_throwing();
    return failures != 0 ? 1 : 0;
}
