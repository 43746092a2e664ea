// Parses the tokens of a chat template into a tree (tree.h). The grammar is Jinja's:
//   https://jinja.palletsprojects.com/en/stable/templates/
// parse_statements.cc implements statements, parse_expressions.cc expressions.
#pragma once

#include "learn/chat/lexer.h"
#include "learn/chat/tree.h"

namespace hone::chat {

class Parser {
 public:
  // `tree` must outlive the parser. The parser adds the names in the template to tree.names.
  Parser(std::vector<Token> tokens, Tree& tree) : tokens_(std::move(tokens)), tree_(tree) {}
  // Parses statements up to a tag whose name is in `ends`; the next token is then that name. With no `ends`, up to the
  // end of the template. Errors: H2911 a syntax error; H2913 nested too deeply.
  Result<Body> parse_body(std::vector<std::string_view> ends);

 private:
  using Parsed = Result<ExpressionPtr>;

  // --- statements ---
  Status parse_statement(Body& to);
  Status parse_set(Statement& s);
  Status parse_if(Statement& s);
  Status parse_for(Statement& s);
  Status parse_with(Statement& s);
  Status parse_macro(Statement& s);
  Status parse_call_block(Statement& s);
  Status parse_parameters(Statement& s);
  // Parses the end of the current tag, and a body up to a tag whose name is in `ends`. If `ends` has one name, skips
  // the name; else the name is the next token.
  Result<Body> parse_block(std::vector<std::string_view> ends);
  Parsed parse_target(bool names_of_loop);

  // --- expressions ---
  Parsed parse_tuple(bool choice, bool parenthesized);
  Parsed parse_expression(bool choice = true);
  Parsed parse_level(int level);
  Parsed parse_compare();
  Parsed parse_unary(bool filters);
  Parsed parse_primary();
  Parsed parse_after(ExpressionPtr e, bool filters);  // .x [x] (x), and | x, is x
  Parsed parse_subscript(ExpressionPtr e);
  Parsed parse_filter(ExpressionPtr e);
  Parsed parse_test(ExpressionPtr e);
  Status parse_arguments(std::vector<Argument>& to);
  Parsed parse_list();
  Parsed parse_dict();

  // --- tokens and nodes ---
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is_op(std::string_view op) const { return now().kind == TokenKind::op && now().text == op; }
  bool is_name(std::string_view name) const {
    return now().kind == TokenKind::name && now().text == name;
  }
  void skip() { at_ += at_ + 1 < tokens_.size(); }
  bool take_op(std::string_view op);
  bool take_name(std::string_view name);
  Status expect_op(std::string_view op);
  Status expect(TokenKind kind);
  Result<NameId> expect_name();
  Error unexpected(std::string_view expected) const;
  ExpressionPtr make(Expression::Kind kind, int line) const;
  // Sets the height of a finished expression and checks its limit, which bounds later recursion. Errors: H2913.
  Parsed made(ExpressionPtr e);
  void note_name(NameId id);

  std::vector<Token> tokens_;
  Tree& tree_;
  size_t at_ = 0;
  int depth_ = 0;
  bool uses_caller_ = false, uses_varargs_ = false, uses_kwargs_ = false;
};

}  // namespace hone::chat
