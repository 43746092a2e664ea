// Statements of the class Parser.
#include <algorithm>

#include "base/core/text.h"
#include "learn/chat/errors.h"
#include "learn/chat/parser.h"

namespace hone::chat {
namespace {

constexpr int kMostBlocks = 60;  // in blocks
constexpr size_t kMostBytes = size_t{1} << 20;

const std::vector<std::string> kTags = {"if",     "for",      "set",   "macro",     "call",
                                        "filter", "with",     "print", "block",     "autoescape",
                                        "break",  "continue", "raw",   "generation"};

}  // namespace

NameId Tree::id_of(std::string_view name) {
  const auto [at, fresh] = ids_.try_emplace(std::string(name), static_cast<NameId>(names.size()));
  if (fresh) names.emplace_back(name);
  return at->second;
}

Result<Tree> parse_template(std::string_view source) {
  if (source.size() > kMostBytes)
    return Error(err::kChatLimit, fmt::format("the chat template has {}, more than {}",
                                              format_bytes(static_cast<int64_t>(source.size())),
                                              format_bytes(kMostBytes)))
        .todo("use the template that the model was published with");
  Tree tree;
  Parser parser(HONE_TRY(tokens_of(source)), tree);
  tree.body = HONE_TRY(parser.parse_body({}));
  return tree;
}

Result<Body> Parser::parse_body(std::vector<std::string_view> ends) {
  Body body;
  if (++depth_ > kMostBlocks)
    return Error(err::kChatLimit, fmt::format("more than {} blocks in blocks", kMostBlocks))
        .at(fmt::format("chat template, line {}", now().line))
        .todo("use the template that the model was published with");
  for (;;) {
    const Token& t = now();
    if (t.kind == TokenKind::end) {
      if (!ends.empty())
        return bad_template(fmt::format("the template ends before '{}'", fmt::join(ends, "' or '")),
                            t.line);
      break;
    }
    if (t.kind == TokenKind::data) {
      auto s = std::make_unique<Statement>();
      s->line = t.line;
      s->text = Value(t.text);
      body.push_back(std::move(s));
      skip();
    } else if (t.kind == TokenKind::variable_begin) {
      auto s = std::make_unique<Statement>();
      s->kind = Statement::output;
      s->line = t.line;
      skip();
      s->expression = HONE_TRY(parse_tuple(true, false));
      HONE_TRY(expect(TokenKind::variable_end));
      body.push_back(std::move(s));
    } else {
      skip();  // {%
      if (now().kind != TokenKind::name) return unexpected("the name of a tag");
      if (std::find(ends.begin(), ends.end(), now().text) != ends.end()) break;
      HONE_TRY(parse_statement(body));
      HONE_TRY(expect(TokenKind::block_end));
    }
  }
  --depth_;
  return body;
}

Result<Body> Parser::parse_block(std::vector<std::string_view> ends) {
  take_op(":");
  HONE_TRY(expect(TokenKind::block_end));
  const bool alone = ends.size() == 1;
  Body body = HONE_TRY(parse_body(std::move(ends)));
  if (alone) skip();
  return body;
}

Status Parser::parse_statement(Body& to) {
  const Token tag = now();
  auto made = std::make_unique<Statement>();
  Statement& s = *made;
  s.line = tag.line;
  skip();
  if (tag.text == "if") {
    HONE_TRY(parse_if(s));
  } else if (tag.text == "for") {
    HONE_TRY(parse_for(s));
  } else if (tag.text == "set") {
    HONE_TRY(parse_set(s));
  } else if (tag.text == "macro") {
    HONE_TRY(parse_macro(s));
  } else if (tag.text == "call") {
    HONE_TRY(parse_call_block(s));
  } else if (tag.text == "filter") {
    s.kind = Statement::filter_block;
    s.expression = HONE_TRY(parse_filter(make(Expression::captured, tag.line)));
    s.body = HONE_TRY(parse_block({"endfilter"}));
  } else if (tag.text == "with") {
    HONE_TRY(parse_with(s));
  } else if (tag.text == "generation") {
    s.kind = Statement::generation;
    s.body = HONE_TRY(parse_block({"endgeneration"}));
  } else if (tag.text == "break" || tag.text == "continue") {
    s.kind = tag.text == "break" ? Statement::leave : Statement::next;
  } else if (tag.text == "print") {
    for (bool first = true; now().kind != TokenKind::block_end; first = false) {
      if (!first) HONE_TRY(expect_op(","));
      auto one = std::make_unique<Statement>();
      one->kind = Statement::output;
      one->line = tag.line;
      one->expression = HONE_TRY(parse_expression());
      to.push_back(std::move(one));
    }
    return Ok{};
  } else if (tag.text == "block") {
    s.kind = Statement::scope;
    const NameId name = HONE_TRY(expect_name());
    take_name("scoped");
    s.body = HONE_TRY(parse_block({"endblock"}));
    take_name(tree_.names[name]);
  } else if (tag.text == "autoescape") {
    s.kind = Statement::scope;
    const ExpressionPtr on = HONE_TRY(parse_expression());
    if (on->kind != Expression::constant || truth(on->value))
      return bad_template("autoescape is not supported", tag.line).todo("leave the tag out");
    s.body = HONE_TRY(parse_block({"endautoescape"}));
  } else {
    for (const char* known : {"include", "import", "from", "extends"})
      if (tag.text == known)
        return bad_template(fmt::format("the tag '{}' needs other files", tag.text), tag.line)
            .todo("write the template as one file");
    const std::string near = nearest_name(tag.text, kTags);
    Error e = bad_template(fmt::format("there is no tag '{}' here", tag.text), tag.line);
    if (near.empty() || near == tag.text)
      return std::move(e).todo("check how the blocks are nested");
    return std::move(e).todo(fmt::format("did you mean '{}'?", near));
  }
  to.push_back(std::move(made));
  return Ok{};
}

Status Parser::parse_set(Statement& s) {
  s.target = HONE_TRY(parse_target(false));
  if (take_op("=")) {
    s.kind = Statement::set;
    s.expression = HONE_TRY(parse_tuple(true, false));
    return Ok{};
  }
  s.kind = Statement::set_block;
  if (is_op("|")) {
    skip();
    s.expression = HONE_TRY(parse_filter(make(Expression::captured, s.line)));
  }
  s.body = HONE_TRY(parse_block({"endset"}));
  return Ok{};
}

Status Parser::parse_if(Statement& s) {
  s.kind = Statement::choice;
  for (;;) {
    Branch branch;
    branch.condition = HONE_TRY(parse_tuple(false, false));
    branch.body = HONE_TRY(parse_block({"elif", "else", "endif"}));
    s.branches.push_back(std::move(branch));
    const std::string word = now().text;
    skip();
    if (word == "elif") continue;
    if (word == "else") {
      Branch last;
      last.body = HONE_TRY(parse_block({"endif"}));
      s.branches.push_back(std::move(last));
    }
    return Ok{};
  }
}

Status Parser::parse_for(Statement& s) {
  s.kind = Statement::loop;
  s.target = HONE_TRY(parse_target(true));
  if (!take_name("in")) return unexpected("'in'");
  s.expression = HONE_TRY(parse_tuple(false, false));
  if (take_name("if")) s.condition = HONE_TRY(parse_expression());
  if (is_name("recursive"))
    return bad_template("recursive loops are not supported", s.line).todo("write a macro");
  s.body = HONE_TRY(parse_block({"endfor", "else"}));
  const bool otherwise = now().text == "else";
  skip();
  if (otherwise) s.otherwise = HONE_TRY(parse_block({"endfor"}));
  return Ok{};
}

Status Parser::parse_with(Statement& s) {
  s.kind = Statement::with;
  for (bool first = true; now().kind != TokenKind::block_end; first = false) {
    if (!first) HONE_TRY(expect_op(","));
    s.targets.push_back(HONE_TRY(parse_target(true)));
    HONE_TRY(expect_op("="));
    s.values.push_back(HONE_TRY(parse_expression()));
  }
  s.body = HONE_TRY(parse_block({"endwith"}));
  return Ok{};
}

Status Parser::parse_parameters(Statement& s) {
  HONE_TRY(expect_op("("));
  for (bool first = true; !is_op(")"); first = false) {
    if (!first) HONE_TRY(expect_op(","));
    Parameter p;
    p.name = HONE_TRY(expect_name());
    if (take_op("="))
      p.fallback = HONE_TRY(parse_expression());
    else if (!s.parameters.empty() && s.parameters.back().fallback)
      return bad_template("an argument without a default follows one that has it", now().line);
    s.parameters.push_back(std::move(p));
  }
  return expect_op(")");
}

Status Parser::parse_macro(Statement& s) {
  s.kind = Statement::macro;
  s.name = HONE_TRY(expect_name());
  HONE_TRY(parse_parameters(s));
  const bool caller = std::exchange(uses_caller_, false);
  const bool varargs = std::exchange(uses_varargs_, false);
  const bool kwargs = std::exchange(uses_kwargs_, false);
  s.body = HONE_TRY(parse_block({"endmacro"}));
  s.uses_caller = std::exchange(uses_caller_, caller);
  s.uses_varargs = std::exchange(uses_varargs_, varargs);
  s.uses_kwargs = std::exchange(uses_kwargs_, kwargs);
  return Ok{};
}

Status Parser::parse_call_block(Statement& s) {
  s.kind = Statement::call_block;
  if (is_op("(")) HONE_TRY(parse_parameters(s));
  s.expression = HONE_TRY(parse_expression());
  if (s.expression->kind != Expression::call)
    return bad_template("call needs a call of a macro", s.line);
  s.name = tree_.id_of("caller");
  s.body = HONE_TRY(parse_block({"endcall"}));
  return Ok{};
}

// A name, names in a tuple, or a member of a namespace.
Parser::Parsed Parser::parse_target(bool names_of_loop) {
  const int line = now().line;
  std::vector<ExpressionPtr> parts;
  bool tuple = false;
  for (;;) {
    if (is_op("(")) {
      skip();
      if (++depth_ > kMostBlocks) return bad_template("too many parentheses", line);
      parts.push_back(HONE_TRY(parse_target(names_of_loop)));
      --depth_;
      HONE_TRY(expect_op(")"));
    } else {
      ExpressionPtr one = make(Expression::variable, now().line);
      one->name = HONE_TRY(expect_name());
      if (!names_of_loop && take_op(".")) {
        one->kind = Expression::member;
        one->attribute_name = HONE_TRY(expect_name());
      }
      parts.push_back(std::move(one));
    }
    if (!is_op(",")) break;
    tuple = true;
    skip();
    if (is_name("in") || is_op("=") || is_op(")")) break;
  }
  if (!tuple) return std::move(parts[0]);
  ExpressionPtr e = make(Expression::tuple, line);
  e->kids = std::move(parts);
  return made(std::move(e));
}

bool Parser::take_op(std::string_view op) {
  const bool there = is_op(op);
  if (there) skip();
  return there;
}

bool Parser::take_name(std::string_view name) {
  const bool there = is_name(name);
  if (there) skip();
  return there;
}

Status Parser::expect_op(std::string_view op) {
  if (!take_op(op)) return unexpected(fmt::format("'{}'", op));
  return Ok{};
}

Status Parser::expect(TokenKind kind) {
  if (now().kind != kind) return unexpected(kind == TokenKind::block_end ? "'%}'" : "'}}'");
  skip();
  return Ok{};
}

Result<NameId> Parser::expect_name() {
  if (now().kind != TokenKind::name) return unexpected("a name");
  const NameId id = tree_.id_of(now().text);
  skip();
  return id;
}

Error Parser::unexpected(std::string_view expected) const {
  constexpr const char* kFound[] = {"text outside tags", "'{%'", "'%}'", "'{{'", "'}}'"};
  const Token& t = now();
  const std::string found = t.kind < TokenKind::name   ? kFound[static_cast<size_t>(t.kind)]
                            : t.kind == TokenKind::end ? "the end of the template"
                            : t.kind == TokenKind::integer || t.kind == TokenKind::real
                                ? "a number"
                                : fmt::format("'{}'", utf8_prefix(t.text, 40));
  return bad_template(fmt::format("{} is expected, and there is {}", expected, found), t.line);
}

}  // namespace hone::chat
