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
    node_index operand;
};
template <class Children>
struct infix_node {  ///< a + b + c is one node with three operands
    token_kind operation;
    Children operands;
};
template <class Children>
struct call_node {  ///< of a name: f(x)
    text_piece callee;
    Children arguments;
};
template <class Children>
struct computed_call_node {  ///< of what another expression gives: f(x)(y)
    node_index callee;
    Children arguments;
};
struct let_node {
    text_piece name;
    node_index value;
};
struct if_node {
    node_index condition, then, otherwise;
};
template <class Children>
struct block_node {
    Children statements;
};
template <class Children>
struct lambda_node {
    node_index body;
    Children parameters;
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
    const auto piece = [&](text_piece p) {
        for (const char c : source.substr(p.offset, p.size)) mix(static_cast<unsigned char>(c));
    };
    const auto list = [&](const Children& children) {
        mix(children.size());
        for (const node_index i : children) mix(i);
    };
    struct visitor {
        decltype(mix)& m;
        decltype(piece)& p;
        decltype(list)& l;
        void operator()(const number_node& n) { p(n.text); }
        void operator()(const name_node& n) { p(n.text); }
        void operator()(const prefix_node& n) {
            m(static_cast<std::uint64_t>(n.operation));
            m(n.operand);
        }
        void operator()(const infix_node<Children>& n) {
            m(static_cast<std::uint64_t>(n.operation));
            l(n.operands);
        }
        void operator()(const let_node& n) {
            p(n.name);
            m(n.value);
        }
        void operator()(const if_node& n) {
            m(n.condition);
            m(n.then);
            m(n.otherwise);
        }
        void operator()(const call_node<Children>& n) {
            p(n.callee);
            l(n.arguments);
        }
        void operator()(const computed_call_node<Children>& n) {
            m(n.callee);
            l(n.arguments);
        }
        void operator()(const block_node<Children>& n) { l(n.statements); }
        void operator()(const lambda_node<Children>& n) {
            m(n.body);
            l(n.parameters);
        }
    };
    for (const node<Children>& n : t.nodes) {
        mix(n.index());
        std::visit(visitor{mix, piece, list}, n);
    }
    for (const node_index i : t.roots) mix(i);
    return h;
}

}  // namespace lab::parser
