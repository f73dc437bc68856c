// What the lab uses of Boost: pools, a heap in a buffer, a stack without locks.
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/lockfree/stack.hpp>
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>
#include <list>
#include <memory>
#include <new>

int main() {
    boost::pool<> slots{64, 100};
    void* const a = slots.malloc();
    slots.free(a);
    void* const b = slots.ordered_malloc();
    slots.ordered_free(b);

    boost::object_pool<int> objects;
    const bool constructed = *objects.construct(7) == 7;

    std::list<int, boost::fast_pool_allocator<int, boost::default_user_allocator_new_delete,
                                              boost::details::pool::null_mutex>>
        list{1, 2, 3};

    constexpr std::size_t size = 1 << 16;
    const auto memory = std::make_unique<std::max_align_t[]>(size / sizeof(std::max_align_t));
    boost::interprocess::managed_external_buffer buffer{boost::interprocess::create_only,
                                                        memory.get(), size};
    void* const c = buffer.allocate(100, std::nothrow);
    buffer.deallocate(c);

    boost::lockfree::stack<void*> free{16};
    const bool pushed = free.bounded_push(nullptr);
    return a != nullptr && b != nullptr && c != nullptr && constructed && pushed && list.size() == 3
               ? 0
               : 1;
}
