// A template as a tree of statements and expressions.
#pragma once

#include <memory>

#include "learn/chat/value.h"

namespace hone::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
using NameId = uint32_t;  // of Tree::names

struct Argument {
  enum { plain, named, spread, spread_named } kind = plain;  // x, name=x, *x, **x
  NameId name = 0;
  ExpressionPtr value;
};

struct Expression {
  enum Kind : uint8_t {
    constant,   // value
    variable,   // name
    captured,   // output of a block with a filter
    list,       // kids
    tuple,      // kids
    dict,       // kids: key, value, key, value
    attribute,  // kids[0].name
    item,       // kids[0][kids[1]]
    slice,      // kids[0][kids[1]:kids[2]:kids[3]], each of these may be null
    call,       // kids[0](arguments)
    filter,     // kids[0] | name(arguments)
    test,       // kids[0] is name(arguments)
    choice,     // kids[1] if kids[0] else kids[2], which may be null
    all,        // kids[0] and kids[1] and ...
    any,        // kids[0] or ...
    negation,   // not kids[0]
    compare,    // kids[0] ops[0] kids[1] ops[1] kids[2] ...
    concat,     // kids[0] ~ kids[1] ~ ...
    binary,     // kids[0] ops[0] kids[1]
    unary,      // ops[0] kids[0]
    member,     // name.attribute_name, as a target only
  };
  Kind kind = constant;
  int line = 1, height = 1;
  NameId name = 0, attribute_name = 0;
  Value value;
  std::vector<std::string> ops = {};  // "+", "not in"
  std::vector<ExpressionPtr> kids = {};
  std::vector<Argument> arguments = {};
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Parameter {
  NameId name = 0;
  ExpressionPtr fallback;  // may be null
};
struct Branch {
  ExpressionPtr condition;  // null: else
  Body body;
};

struct Statement {
  enum Kind : uint8_t {
    data,          // text
    output,        // expression
    set,           // target = expression
    set_block,     // target = body | expression, which may be null
    choice,        // branches
    loop,          // for target in expression if condition: body, else otherwise
    macro,         // name(parameters): body
    call_block,    // expression, a call whose caller(parameters) is body
    filter_block,  // body | expression
    with,          // targets[i] = values[i] for body
    scope,         // body
    generation,    // body
    leave,         // break
    next,          // continue
  };
  Kind kind = data;
  int line = 1;
  NameId name = 0;
  Value text;
  ExpressionPtr expression, target, condition;
  std::vector<ExpressionPtr> targets = {}, values = {};
  std::vector<Parameter> parameters = {};
  std::vector<Branch> branches = {};
  Body body = {}, otherwise = {};
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;  // macro
};

struct Tree {
  Body body;
  std::vector<std::string> names;
  NameId id_of(std::string_view name);  // appends a name that is new

 private:
  std::unordered_map<std::string, NameId> ids_;
};

// H2911 with the line: the template language or hone does not have the construct.
Result<Tree> parse_template(std::string_view source);

}  // namespace hone::chat
