// lab/parser/tree.hpp - the tree, flattened: one std::vector of nodes that point by index.
//
//      index:   0        1        2          3                      4
//      nodes: [name a] [num 1] [call f: {0, 1}] [name b] [infix +: {2, 3}] ...
//                                        |
//                                        `-- a small vector of its own, of child indices
//
// That vector is what the article is about: its kind is the template parameter, everything else is
// the same for all contenders. A child always stands before its parent.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lab/parser/lexer.hpp"

namespace lab::parser {

using node_index = std::uint32_t;

struct text_piece {
    std::uint32_t offset;
    std::uint32_t size;
};

struct number_node {
    text_piece text;
};
struct name_node {
    text_piece text;
};
struct prefix_node {
    token_kind operation;
    node_index child;
};
template <class Children>
struct infix_node {  ///< a + b + c is one node with three operands
    token_kind operation;
    Children children;
};
template <class Children>
struct call_node {  ///< of a name: f(x)
    text_piece text;
    Children children;
};
template <class Children>
struct computed_call_node {  ///< of what another expression gives: f(x)(y)
    node_index child;
    Children children;
};
struct let_node {
    text_piece text;
    node_index child;
};
struct if_node {
    node_index condition, then, otherwise;
};
template <class Children>
struct block_node {
    Children children;
};
template <class Children>
struct lambda_node {
    node_index child;
    Children children;
};

template <class Children>
using node = std::variant<number_node, name_node, prefix_node, infix_node<Children>, let_node,
                          if_node, call_node<Children>, computed_call_node<Children>,
                          block_node<Children>, lambda_node<Children>>;

template <class Children>
struct tree {
    std::vector<node<Children>> nodes;
    std::vector<node_index> roots;  ///< the statements
};

/// A number that depends on every node and every edge: equal for equal trees, whatever they are
/// made of. Never timed.
template <class Children>
[[nodiscard]] std::uint64_t hash_of(const tree<Children>& t, std::string_view source) {
    std::uint64_t h = 14695981039346656037u;
    const auto mix = [&](std::uint64_t v) { h = (h ^ v) * 1099511628211u; };
    const auto add = [&]<class Node>(const Node& n) {
        if constexpr (requires { n.operation; }) mix(static_cast<std::uint64_t>(n.operation));
        if constexpr (requires { n.child; }) mix(n.child);
        if constexpr (requires { n.text; }) {
            for (const char c : source.substr(n.text.offset, n.text.size)) {
                mix(static_cast<unsigned char>(c));
            }
        }
        if constexpr (requires { n.children; }) {
            mix(n.children.size());
            for (const node_index i : n.children) mix(i);
        }
        if constexpr (std::is_same_v<Node, if_node>) {
            for (const node_index i : {n.condition, n.then, n.otherwise}) mix(i);
        }
    };
    for (const node<Children>& n : t.nodes) {
        mix(n.index());
        std::visit(add, n);
    }
    for (const node_index i : t.roots) mix(i);
    return h;
}

}  // namespace lab::parser
