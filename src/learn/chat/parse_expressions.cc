// Expressions of the class Parser.
#include <algorithm>

#include "learn/chat/errors.h"
#include "learn/chat/parser.h"

namespace hone::chat {
namespace {

constexpr int kMostHeight = 200;       // of an expression
constexpr int kMostParentheses = 100;  // in parentheses, with the blocks around them

// Operators of two sides, the loosest first; ~, which joins any number, is level 1.
constexpr std::string_view kLevels[][4] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
constexpr int kMathLevels = 4;

}  // namespace

ExpressionPtr Parser::make(Expression::Kind kind, int line) const {
  auto e = std::make_unique<Expression>();
  e->kind = kind;
  e->line = line;
  return e;
}

Parser::Parsed Parser::made(ExpressionPtr e) {
  for (const ExpressionPtr& kid : e->kids)
    if (kid) e->height = std::max(e->height, kid->height + 1);
  for (const Argument& a : e->arguments) e->height = std::max(e->height, a.value->height + 1);
  if (e->height > kMostHeight)
    return Error(err::kChatLimit,
                 fmt::format("an expression has more than {} parts in parts", kMostHeight))
        .at(fmt::format("chat template, line {}", e->line))
        .todo("use the template that the model was published with");
  return e;
}

void Parser::note_name(NameId id) {
  const std::string& name = tree_.names[id];
  uses_caller_ = uses_caller_ || name == "caller";
  uses_varargs_ = uses_varargs_ || name == "varargs";
  uses_kwargs_ = uses_kwargs_ || name == "kwargs";
}

Parser::Parsed Parser::parse_tuple(bool choice, bool parenthesized) {
  const int line = now().line;
  std::vector<ExpressionPtr> parts;
  bool tuple = false;
  const auto ends = [&] {
    return now().kind == TokenKind::variable_end || now().kind == TokenKind::block_end ||
           is_op(")");
  };
  while (!ends()) {
    parts.push_back(HONE_TRY(parse_expression(choice)));
    if (!take_op(",")) break;
    tuple = true;
  }
  if (!tuple && !parts.empty()) return std::move(parts[0]);
  if (!tuple && !parenthesized) return unexpected("a value");
  ExpressionPtr e = make(Expression::tuple, line);
  e->kids = std::move(parts);
  return made(std::move(e));
}

Parser::Parsed Parser::parse_expression(bool choice) {
  if (++depth_ > kMostParentheses)
    return Error(err::kChatLimit,
                 fmt::format("more than {} brackets in brackets", kMostParentheses))
        .at(fmt::format("chat template, line {}", now().line))
        .todo("use the template that the model was published with");
  ExpressionPtr e = HONE_TRY(parse_level(0));
  while (choice && is_name("if")) {
    ExpressionPtr c = make(Expression::choice, now().line);
    skip();
    c->kids.push_back(HONE_TRY(parse_level(0)));
    c->kids.push_back(std::move(e));
    c->kids.push_back(nullptr);
    if (take_name("else")) c->kids[2] = HONE_TRY(parse_expression());
    e = HONE_TRY(made(std::move(c)));
  }
  --depth_;
  return e;
}

// 0: or, 1: and, 2: not, 3 and more: comparisons and kLevels.
Parser::Parsed Parser::parse_level(int level) {
  const int line = now().line;
  if (level < 2) {
    ExpressionPtr first = HONE_TRY(parse_level(level + 1));
    const std::string_view word = level == 0 ? "or" : "and";
    if (!is_name(word)) return first;
    ExpressionPtr e = make(level == 0 ? Expression::any : Expression::all, line);
    e->kids.push_back(std::move(first));
    while (take_name(word)) e->kids.push_back(HONE_TRY(parse_level(level + 1)));
    return made(std::move(e));
  }
  if (level == 2) {
    int count = 0;
    while (take_name("not")) ++count;
    ExpressionPtr e = HONE_TRY(parse_compare());
    for (int i = 0; i < count; ++i) {
      ExpressionPtr n = make(Expression::negation, line);
      n->kids.push_back(std::move(e));
      e = HONE_TRY(made(std::move(n)));
    }
    return e;
  }
  const int math = level - 3;
  if (math == kMathLevels) return parse_unary(true);
  ExpressionPtr e = HONE_TRY(parse_level(level + 1));
  for (;;) {
    const auto& ops = kLevels[math];
    if (now().kind != TokenKind::op || now().text.empty() ||
        std::find(std::begin(ops), std::end(ops), now().text) == std::end(ops))
      return e;
    ExpressionPtr b = make(math == 1 ? Expression::concat : Expression::binary, now().line);
    b->ops.push_back(now().text);
    b->kids.push_back(std::move(e));
    skip();
    b->kids.push_back(HONE_TRY(parse_level(level + 1)));
    while (math == 1 && take_op("~")) b->kids.push_back(HONE_TRY(parse_level(level + 1)));
    e = HONE_TRY(made(std::move(b)));
  }
}

Parser::Parsed Parser::parse_compare() {
  ExpressionPtr first = HONE_TRY(parse_level(3));
  ExpressionPtr e = make(Expression::compare, now().line);
  for (;;) {
    const Token& t = now();
    std::string op;
    if (t.kind == TokenKind::op && (t.text == "==" || t.text == "!=" || t.text == "<" ||
                                    t.text == "<=" || t.text == ">" || t.text == ">="))
      op = t.text;
    else if (is_name("in"))
      op = "in";
    else if (is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in")
      op = "not in";
    if (op.empty()) break;
    skip();
    if (op == "not in") skip();
    if (e->kids.empty()) e->kids.push_back(std::move(first));
    e->ops.push_back(op);
    e->kids.push_back(HONE_TRY(parse_level(3)));
  }
  if (e->kids.empty()) return first;
  return made(std::move(e));
}

Parser::Parsed Parser::parse_unary(bool filters) {
  const int line = now().line;
  std::vector<std::string> signs;
  while (is_op("-") || is_op("+")) {
    signs.push_back(now().text);
    skip();
  }
  ExpressionPtr e = HONE_TRY(parse_primary());
  e = HONE_TRY(parse_after(std::move(e), filters && signs.empty()));
  for (; !signs.empty(); signs.pop_back()) {
    ExpressionPtr u = make(Expression::unary, line);
    u->ops.push_back(signs.back());
    u->kids.push_back(std::move(e));
    e = HONE_TRY(made(std::move(u)));
    if (signs.size() == 1) e = HONE_TRY(parse_after(std::move(e), filters));
  }
  return e;
}

Parser::Parsed Parser::parse_primary() {
  const Token t = now();
  ExpressionPtr e = make(Expression::constant, t.line);
  switch (t.kind) {
    case TokenKind::name:
      skip();
      if (t.text == "true" || t.text == "True" || t.text == "false" || t.text == "False") {
        e->value = Value(t.text[0] == 't' || t.text[0] == 'T');
      } else if (t.text == "none" || t.text == "None") {
        e->value = Value::none();
      } else {
        e->kind = Expression::variable;
        e->name = tree_.id_of(t.text);
        note_name(e->name);
      }
      return e;
    case TokenKind::text: {
      std::string all;
      for (; now().kind == TokenKind::text; skip()) all += now().text;
      e->value = Value(std::move(all));
      return e;
    }
    case TokenKind::integer:
      e->value = Value(t.integer);
      skip();
      return e;
    case TokenKind::real:
      e->value = Value(t.real);
      skip();
      return e;
    default:
      break;
  }
  if (take_op("(")) {
    ExpressionPtr inner = HONE_TRY(parse_tuple(true, true));
    HONE_TRY(expect_op(")"));
    return inner;
  }
  if (is_op("[")) return parse_list();
  if (is_op("{")) return parse_dict();
  return unexpected("a value");
}

Parser::Parsed Parser::parse_list() {
  ExpressionPtr e = make(Expression::list, now().line);
  skip();
  while (!is_op("]")) {
    e->kids.push_back(HONE_TRY(parse_expression()));
    if (!take_op(",")) break;
  }
  HONE_TRY(expect_op("]"));
  return made(std::move(e));
}

Parser::Parsed Parser::parse_dict() {
  ExpressionPtr e = make(Expression::dict, now().line);
  skip();
  while (!is_op("}")) {
    e->kids.push_back(HONE_TRY(parse_expression()));
    HONE_TRY(expect_op(":"));
    e->kids.push_back(HONE_TRY(parse_expression()));
    if (!take_op(",")) break;
  }
  HONE_TRY(expect_op("}"));
  return made(std::move(e));
}

Parser::Parsed Parser::parse_after(ExpressionPtr e, bool filters) {
  bool filtered = false;  // a filter or a test ends what may be subscribed
  for (;;) {
    if (!filtered && (is_op(".") || is_op("["))) {
      e = HONE_TRY(parse_subscript(std::move(e)));
    } else if (is_op("(")) {
      ExpressionPtr call = make(Expression::call, now().line);
      call->kids.push_back(std::move(e));
      HONE_TRY(parse_arguments(call->arguments));
      e = HONE_TRY(made(std::move(call)));
    } else if (filters && is_op("|")) {
      skip();
      filtered = true;
      e = HONE_TRY(parse_filter(std::move(e)));
    } else if (filters && is_name("is")) {
      filtered = true;
      e = HONE_TRY(parse_test(std::move(e)));
    } else {
      return e;
    }
  }
}

Parser::Parsed Parser::parse_subscript(ExpressionPtr kid) {
  ExpressionPtr e = make(Expression::item, now().line);
  e->kids.push_back(std::move(kid));
  if (take_op(".")) {
    if (now().kind == TokenKind::name) {
      e->kind = Expression::attribute;
      e->name = HONE_TRY(expect_name());
    } else if (now().kind == TokenKind::integer) {
      ExpressionPtr index = make(Expression::constant, now().line);
      index->value = Value(now().integer);
      skip();
      e->kids.push_back(std::move(index));
    } else {
      return unexpected("a name or a number");
    }
    return made(std::move(e));
  }
  skip();  // [
  if (!is_op(":")) e->kids.push_back(HONE_TRY(parse_expression()));
  if (take_op(":")) {
    e->kind = Expression::slice;
    e->kids.resize(4);
    if (!is_op(":") && !is_op("]")) e->kids[2] = HONE_TRY(parse_expression());
    if (take_op(":") && !is_op("]")) e->kids[3] = HONE_TRY(parse_expression());
  }
  HONE_TRY(expect_op("]"));
  return made(std::move(e));
}

Parser::Parsed Parser::parse_filter(ExpressionPtr kid) {
  for (;;) {
    ExpressionPtr e = make(Expression::filter, now().line);
    e->name = HONE_TRY(expect_name());
    e->kids.push_back(std::move(kid));
    if (is_op("(")) HONE_TRY(parse_arguments(e->arguments));
    kid = HONE_TRY(made(std::move(e)));
    if (!take_op("|")) return kid;
  }
}

Parser::Parsed Parser::parse_test(ExpressionPtr kid) {
  const int line = now().line;
  skip();  // is
  const bool negated = take_name("not");
  ExpressionPtr e = make(Expression::test, line);
  e->name = HONE_TRY(expect_name());
  e->kids.push_back(std::move(kid));
  const bool value = now().kind == TokenKind::name || now().kind == TokenKind::text ||
                     now().kind == TokenKind::integer || now().kind == TokenKind::real ||
                     is_op("[") || is_op("{");
  if (is_op("(")) {
    HONE_TRY(parse_arguments(e->arguments));
  } else if (value && !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) return bad_template("two tests follow each other", now().line);
    Argument a;
    a.value = HONE_TRY(parse_primary());
    a.value = HONE_TRY(parse_after(std::move(a.value), false));
    e->arguments.push_back(std::move(a));
  }
  e = HONE_TRY(made(std::move(e)));
  if (!negated) return e;
  ExpressionPtr n = make(Expression::negation, line);
  n->kids.push_back(std::move(e));
  return made(std::move(n));
}

Status Parser::parse_arguments(std::vector<Argument>& to) {
  HONE_TRY(expect_op("("));
  bool only_named = false;
  while (!is_op(")")) {
    Argument a;
    if (take_op("*")) {
      a.kind = Argument::spread;
    } else if (take_op("**")) {
      a.kind = Argument::spread_named;
      only_named = true;
    } else if (now().kind == TokenKind::name && ahead().kind == TokenKind::op &&
               ahead().text == "=") {
      a.kind = Argument::named;
      a.name = HONE_TRY(expect_name());
      skip();
      only_named = true;
    } else if (only_named) {
      return bad_template("an argument without a name follows one with a name", now().line);
    }
    a.value = HONE_TRY(parse_expression());
    to.push_back(std::move(a));
    if (!take_op(",")) break;
  }
  return expect_op(")");
}

}  // namespace hone::chat
