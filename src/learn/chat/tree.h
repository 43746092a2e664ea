// The syntax tree of a chat template: statements and expressions of Jinja.
#pragma once

#include <memory>

#include "learn/chat/value.h"

namespace hone::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
using NameId = uint32_t;  // index into Tree::names

// An argument of a call: x (plain), name=x (named), *x (spread) or **x (spread_named), where x is `value`.
struct Argument {
  enum { plain, named, spread, spread_named } kind = plain;
  NameId name = 0;
  ExpressionPtr value;
};

// The comment after each kind is the source code of this kind, written with the members of Expression that the kind
// uses. Other members are unused.
struct Expression {
  enum Kind : uint8_t {
    constant,   // value
    variable,   // name
    captured,   // no source code: the text that {% filter %} or {% set x | ... %} filters
    list,       // [kids[0], kids[1], ...]
    tuple,      // (kids[0], kids[1], ...)
    dict,       // {kids[0]: kids[1], kids[2]: kids[3], ...}
    attribute,  // kids[0].name
    item,       // kids[0][kids[1]]
    slice,      // kids[0][kids[1]:kids[2]:kids[3]]; kids[1] to kids[3] may be null: left out
    call,       // kids[0](arguments)
    filter,     // kids[0] | name(arguments)
    test,       // kids[0] is name(arguments)
    choice,     // kids[1] if kids[0] else kids[2]; kids[2] is null if there is no else
    all,        // kids[0] and kids[1] and ...
    any,        // kids[0] or kids[1] or ...
    negation,   // not kids[0]
    compare,    // kids[0] ops[0] kids[1] ops[1] kids[2] ...
    concat,     // kids[0] ~ kids[1] ~ ...
    binary,     // kids[0] ops[0] kids[1]
    unary,      // ops[0] kids[0]
    member,     // name.attribute_name, only as the target of an assignment: a member of a namespace
  };
  Kind kind = constant;
  int line = 1, height = 1;  // 1-based line in the template; height of the tree below, 1 for a leaf
  NameId name = 0, attribute_name = 0;
  Value value;
  std::vector<std::string> ops = {};  // operators such as "+", "not in"
  std::vector<ExpressionPtr> kids = {};
  std::vector<Argument> arguments = {};
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// A parameter of a macro; `fallback` is its default value, null if it has none.
struct Parameter {
  NameId name = 0;
  ExpressionPtr fallback;
};
// A branch of {% if %}; `condition` is null for {% else %}.
struct Branch {
  ExpressionPtr condition;
  Body body;
};

// The comment after each kind is the source code of this kind, written with the members of Statement that the kind
// uses. The end tags are left out.
struct Statement {
  enum Kind : uint8_t {
    data,          // text between tags: `text`
    output,        // {{ expression }}
    set,           // {% set target = expression %}
    set_block,     // {% set target | expression %} body; expression is a filter for body, or null
    choice,        // {% if %} {% elif %} {% else %}: branches
    loop,          // {% for target in expression if condition %} body {% else %} otherwise
    macro,         // {% macro name(parameters) %} body
    call_block,    // {% call(parameters) expression %} body; in the call, caller(...) runs body
    filter_block,  // {% filter expression %} body; expression is a filter for body
    with,          // {% with targets[0] = values[0], ... %} body
    scope,         // {% block name %} or {% autoescape false %} body
    generation,    // {% generation %} body
    leave,         // {% break %}
    next,          // {% continue %}
  };
  Kind kind = data;
  int line = 1;
  NameId name = 0;
  Value text;
  ExpressionPtr expression, target, condition;  // null if the source code has none
  std::vector<ExpressionPtr> targets = {}, values = {};
  std::vector<Parameter> parameters = {};
  std::vector<Branch> branches = {};
  Body body = {}, otherwise = {};
  // For a macro: uses_caller is true if its body uses the name caller; the other two likewise.
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Tree {
  Body body;
  std::vector<std::string> names;       // all names in the template, by NameId
  NameId id_of(std::string_view name);  // the id of a name; appends it to `names` if it is new

 private:
  std::unordered_map<std::string, NameId> ids_;
};

// Parses the source of a template. Errors: H2911 a syntax error, or a part of Jinja that hone does not support; the
// message names the line. H2913 the template is too large or nested too deeply.
Result<Tree> parse_template(std::string_view source);

}  // namespace hone::chat
