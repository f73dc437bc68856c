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
//      Lists::collector        collects indices: push_back(index)
//      lists.start()           a collector;  lists.finish(collector&&)  children of it
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lab/parser/lexer.hpp"
#include "lab/parser/tree.hpp"

namespace lab::parser {

/// Where and why a source does not parse; empty when it does.
struct syntax_error {
    std::uint32_t offset = 0;
    const char* expected = nullptr;
    explicit operator bool() const noexcept { return expected != nullptr; }
};

/// "line 3, column 7: expected an expression".
[[nodiscard]] std::string describe(const syntax_error& e, std::string_view source);

inline constexpr int deepest_nesting = 2000;

template <class Lists>
class parser {
public:
    using children = typename Lists::children;

    parser(std::string_view source, Lists& lists, tree<children>& into) noexcept
        : lexer_{source}, lists_{lists}, tree_{into} {
        advance();
    }

    /// Appends to the tree. On an error the tree holds what was understood until then.
    syntax_error parse() {
        while (now_.kind != token_kind::end && !error_) {
            bool is_value = false;
            const node_index i = statement(is_value);
            if (is_value) expect(token_kind::semicolon, "';'");
            tree_.roots.push_back(i);
        }
        return error_;
    }

private:
    void advance() noexcept { now_ = lexer_.next(); }

    void fail(const char* expected) noexcept {
        if (!error_) error_ = {now_.offset, expected};
        now_.kind = token_kind::error;  // no rule accepts it: everything unwinds
    }
    void expect(token_kind kind, const char* what) noexcept {
        if (now_.kind == kind)
            advance();
        else
            fail(what);
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

    /// `is_value`: an expression, whose ';' the caller has still to expect.
    node_index statement(bool& is_value) {
        is_value = now_.kind != token_kind::let;
        if (is_value) return expression(0);
        advance();
        const text_piece name = piece();
        expect(token_kind::name, "a name");
        expect(token_kind::assign, "'='");
        const node_index value = expression(0);
        expect(token_kind::semicolon, "';'");
        return add<let_node>(name, value);
    }

    struct precedence_table {  // 0: not infix
        std::uint8_t of[32] = {};
        constexpr precedence_table() {
            const auto set = [&](token_kind k, std::uint8_t strength) {
                of[static_cast<std::size_t>(k)] = strength;
            };
            set(token_kind::or_, 1);
            set(token_kind::and_, 2);
            for (const auto k : {token_kind::equal, token_kind::not_equal}) set(k, 3);
            for (const auto k : {token_kind::less, token_kind::less_equal, token_kind::greater,
                                 token_kind::greater_equal}) {
                set(k, 4);
            }
            for (const auto k : {token_kind::plus, token_kind::minus}) set(k, 5);
            for (const auto k : {token_kind::star, token_kind::slash, token_kind::percent})
                set(k, 6);
        }
    };
    static_assert(static_cast<std::size_t>(token_kind::not_) < 32);

    [[nodiscard]] static int precedence(token_kind k) noexcept {
        static constexpr precedence_table table;
        return table.of[static_cast<std::size_t>(k)];
    }

    node_index expression(int above) {
        if (++depth_ > deepest_nesting) {
            fail("less deeply nested expressions");
            --depth_;
            return 0;
        }
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
            left = add<infix_node<children>>(operation, lists_.finish(std::move(operands)));
        }
        --depth_;
        return left;
    }

    node_index prefix() {
        const token_kind operation = now_.kind;
        if (operation != token_kind::minus && operation != token_kind::not_) return postfix();
        advance();
        if (++depth_ > deepest_nesting) fail("less deeply nested expressions");
        const node_index operand = error_ ? 0 : prefix();
        --depth_;
        return add<prefix_node>(operation, operand);
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
        expect(token_kind::right_paren, "')'");
        return lists_.finish(std::move(collected));
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
                expect(token_kind::right_paren, "')'");
                return inside;
            }
            case token_kind::left_brace:
                return block();
            case token_kind::fn:
                return lambda();
            case token_kind::if_:
                return choice();
            default:
                fail("an expression");
                return 0;
        }
    }

    node_index block() {
        advance();
        auto statements = lists_.start();
        while (now_.kind != token_kind::right_brace && !error_) {
            bool is_value = false;
            (void)statements.push_back(statement(is_value));
            // The last expression of a block is its value and needs no ';'.
            if (is_value && now_.kind != token_kind::right_brace) {
                expect(token_kind::semicolon, "';' or '}'");
            }
        }
        expect(token_kind::right_brace, "'}'");
        return add<block_node<children>>(lists_.finish(std::move(statements)));
    }

    node_index lambda() {
        advance();
        expect(token_kind::left_paren, "'('");
        auto parameters = lists_.start();
        if (now_.kind != token_kind::right_paren) {
            do {
                const text_piece name = piece();
                expect(token_kind::name, "a parameter's name");
                (void)parameters.push_back(add<name_node>(name));
            } while (accept(token_kind::comma));
        }
        expect(token_kind::right_paren, "')'");
        auto kept = lists_.finish(std::move(parameters));
        const node_index body = expression(0);
        return add<lambda_node<children>>(body, std::move(kept));
    }

    node_index choice() {
        advance();
        expect(token_kind::left_paren, "'('");
        const node_index condition = expression(0);
        expect(token_kind::right_paren, "')'");
        const node_index then = expression(0);
        expect(token_kind::else_, "'else'");
        const node_index otherwise = expression(0);
        return add<if_node>(condition, then, otherwise);
    }

    lexer lexer_;
    Lists& lists_;
    tree<children>& tree_;
    token now_;
    syntax_error error_;
    int depth_ = 0;
};

}  // namespace lab::parser
