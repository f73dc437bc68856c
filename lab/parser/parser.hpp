// lab/parser/parser.hpp - tokens to a tree: recursive descent, precedence climbing for infix.
//
//      program   := statement*
//      statement := "let" name "=" expression ";"  |  expression ";"
//      expression:= prefix (infix-operator prefix)*                by precedence; a + b + c is one list
//      prefix    := ("-" | "!") prefix  |  postfix
//      postfix   := primary ( "(" [expression ("," expression)*] ")" )*
//      primary   := number | name | "(" expression ")" | block | lambda | if
//      block     := "{" statement* [expression] "}"
//      lambda    := "fn" "(" [name ("," name)*] ")" expression
//      if        := "if" "(" expression ")" expression "else" expression
//
// `Lists` says what the lists of children are made of:
//      Lists::children         what a node keeps
//      lists.start()           collects indices with push_back(index): the children themselves, or
//                              something whose finish() returns them
#pragma once

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lab/parser/lexer.hpp"
#include "lab/parser/tree.hpp"

namespace lab::parser {

template <class Lists>
class parser {
public:
    using children = typename Lists::children;

    parser(std::string_view source, Lists& lists, tree<children>& into) noexcept
        : lexer_{source}, lists_{lists}, tree_{into} {
        advance();
    }

    /// Appends to the tree. Returns: false when the source is not of the language; the tree holds
    /// what was understood until then.
    bool parse() {
        while (now_.kind != token_kind::end && now_.kind != token_kind::error) {
            bool is_value = false;
            const node_index i = statement(is_value);
            if (is_value) expect(token_kind::semicolon);
            tree_.roots.push_back(i);
        }
        return now_.kind == token_kind::end;
    }

private:
    /// An error stays where it is: no rule accepts it, so everything unwinds.
    void advance() noexcept {
        if (now_.kind != token_kind::error) now_ = lexer_.next();
    }
    void fail() noexcept { now_.kind = token_kind::error; }
    void expect(token_kind kind) noexcept {
        if (!accept(kind)) fail();
    }
    bool accept(token_kind kind) noexcept {
        if (now_.kind != kind) return false;
        advance();
        return true;
    }
    [[nodiscard]] text_piece piece() const noexcept { return {now_.offset, now_.size}; }

    template <class Node, class... Parts>
    node_index add(Parts&&... parts) {
        tree_.nodes.emplace_back(std::in_place_type<Node>, Node{std::forward<Parts>(parts)...});
        return static_cast<node_index>(tree_.nodes.size() - 1);
    }

    template <class Collected>
    static children children_of(Collected&& collected) {
        if constexpr (std::is_same_v<Collected, children>) {
            return std::move(collected);
        } else {
            return collected.finish();
        }
    }

    /// `is_value`: an expression, whose ';' the caller has still to expect.
    node_index statement(bool& is_value) {
        is_value = now_.kind != token_kind::let;
        if (is_value) return expression(0);
        advance();
        const text_piece name = piece();
        expect(token_kind::name);
        expect(token_kind::assign);
        const node_index value = expression(0);
        expect(token_kind::semicolon);
        return add<let_node>(name, value);
    }

    /// How strongly an operator binds its operands; 0: it is not infix.
    [[nodiscard]] static constexpr std::array<std::uint8_t, 32> strengths() noexcept {
        constexpr token_kind levels[][2] = {{token_kind::or_, token_kind::or_},
                                            {token_kind::and_, token_kind::and_},
                                            {token_kind::equal, token_kind::not_equal},
                                            {token_kind::less, token_kind::greater_equal},
                                            {token_kind::plus, token_kind::minus},
                                            {token_kind::star, token_kind::percent}};
        std::array<std::uint8_t, 32> of{};
        std::uint8_t strength = 0;
        for (const auto& [first, last] : levels) {
            ++strength;
            for (auto k = static_cast<std::size_t>(first); k <= static_cast<std::size_t>(last);
                 ++k) {
                of[k] = strength;
            }
        }
        return of;
    }
    [[nodiscard]] static int precedence(token_kind k) noexcept {
        static constexpr std::array<std::uint8_t, 32> of = strengths();
        return of[static_cast<std::size_t>(k)];
    }

    node_index expression(int above) {
        node_index left = prefix();
        for (;;) {
            const token_kind operation = now_.kind;
            const int strength = precedence(operation);
            if (strength <= above) break;
            auto operands = lists_.start();
            (void)operands.push_back(left);
            do {
                advance();
                (void)operands.push_back(expression(strength));
            } while (now_.kind == operation);
            left = add<infix_node<children>>(operation, children_of(std::move(operands)));
        }
        return left;
    }

    node_index prefix() {
        const token_kind operation = now_.kind;
        if (operation != token_kind::minus && operation != token_kind::not_) return postfix();
        advance();
        return add<prefix_node>(operation, prefix());
    }

    node_index postfix() {
        if (now_.kind != token_kind::name) return calls_of(primary());
        const text_piece name = piece();
        advance();
        if (now_.kind != token_kind::left_paren) return add<name_node>(name);
        const node_index call = add<call_node<children>>(name, arguments());
        return calls_of(call);
    }

    node_index calls_of(node_index value) {
        while (now_.kind == token_kind::left_paren) {
            value = add<computed_call_node<children>>(value, arguments());
        }
        return value;
    }

    children arguments() {
        advance();
        auto collected = lists_.start();
        if (now_.kind != token_kind::right_paren) {
            do (void)collected.push_back(expression(0));
            while (accept(token_kind::comma));
        }
        expect(token_kind::right_paren);
        return children_of(std::move(collected));
    }

    node_index primary() {
        switch (now_.kind) {
            case token_kind::number: {
                const text_piece text = piece();
                advance();
                return add<number_node>(text);
            }
            case token_kind::left_paren: {
                advance();
                const node_index inside = expression(0);
                expect(token_kind::right_paren);
                return inside;
            }
            case token_kind::left_brace:
                return block();
            case token_kind::fn:
                return lambda();
            case token_kind::if_:
                return choice();
            default:
                fail();
                return 0;
        }
    }

    node_index block() {
        advance();
        auto statements = lists_.start();
        while (now_.kind != token_kind::right_brace && now_.kind != token_kind::error) {
            bool is_value = false;
            (void)statements.push_back(statement(is_value));
            // The last expression of a block is its value and needs no ';'.
            if (is_value && now_.kind != token_kind::right_brace) { expect(token_kind::semicolon); }
        }
        expect(token_kind::right_brace);
        return add<block_node<children>>(children_of(std::move(statements)));
    }

    node_index lambda() {
        advance();
        expect(token_kind::left_paren);
        auto parameters = lists_.start();
        if (now_.kind != token_kind::right_paren) {
            do {
                const text_piece name = piece();
                expect(token_kind::name);
                (void)parameters.push_back(add<name_node>(name));
            } while (accept(token_kind::comma));
        }
        expect(token_kind::right_paren);
        auto kept = children_of(std::move(parameters));
        const node_index body = expression(0);
        return add<lambda_node<children>>(body, std::move(kept));
    }

    node_index choice() {
        advance();
        expect(token_kind::left_paren);
        const node_index condition = expression(0);
        expect(token_kind::right_paren);
        const node_index then = expression(0);
        expect(token_kind::else_);
        const node_index otherwise = expression(0);
        return add<if_node>(condition, then, otherwise);
    }

    lexer lexer_;
    Lists& lists_;
    tree<children>& tree_;
    token now_;
};

}  // namespace lab::parser
