// How do std::map and std::list get their nodes from a pool, whatever size those have?
#include <cairn/std/node_pool.hpp>
#include <cstdio>
#include <list>
#include <map>

int main() {
    // [nodes]
    cairn::node_pool nodes;  // one for both containers: each picks the pool of its own node size
    std::map<int, int, std::less<>, cairn::node_allocator<std::pair<const int, int>>> squares{
        nodes};
    std::list<int, cairn::node_allocator<int>> order{nodes};
    // [/nodes]
    for (int i = 0; i < 1000; ++i) {
        squares.emplace(i, i * i);
        order.push_back(i);
    }
    for (int i = 0; i < 1000; i += 2) { squares.erase(i); }
    std::printf("%zu nodes live, %zu bytes taken\n", nodes.stats().live_count,
                nodes.stats().upstream_size);
    return squares.at(31) == 961 && nodes.stats().live_count >= 1500 ? 0 : 1;
}
