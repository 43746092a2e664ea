// Expressions: the second half of Renderer.
#include <algorithm>

#include "learn/chat/errors.h"
#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

// Approximate cost of making the value.
int64_t cost_of(const Value& v) {
  if (v.is(Kind::text)) return static_cast<int64_t>(v.text().size());
  if (v.is_sequence()) return static_cast<int64_t>(v.items().size()) * 40;
  if (v.is(Kind::dict)) return static_cast<int64_t>(v.pairs().size()) * 80;
  return 0;
}

Value missing(const Value& of, std::string_view name) {
  return Value::undefined(fmt::format("a {} has no '{}'", type_name(of), utf8_prefix(name, 80)));
}

std::optional<Value> loop_attribute(const LoopState& loop, const std::string& name) {
  const auto index = static_cast<int64_t>(loop.index),
             count = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(count - index);
  if (name == "revindex0") return Value(count - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == count);
  if (name == "length") return Value(count);
  if (name == "depth") return Value(int64_t{1});
  if (name == "depth0") return Value(int64_t{0});
  if (name == "previtem")
    return index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < count ? loop.items[loop.index + 1]
                             : Value::undefined("there is no next item");
  return {};
}

// Equal steps between the items, as range(...) prints.
Value range_of(Values items) {
  const int64_t first = items.empty() ? 0 : items[0].integer();
  const int64_t step = items.size() > 1 ? items[1].integer() - first : 1;
  const int64_t end = first + static_cast<int64_t>(items.size()) * step;
  std::string shown = step == 1 ? fmt::format("range({}, {})", first, end)
                                : fmt::format("range({}, {}, {})", first, end, step);
  return Value::sequence(Kind::range, std::move(items), std::move(shown));
}

bool compares(const std::string& op, int order) {
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

}  // namespace

Result<Value> Renderer::eval(const Expression& e) {
  HONE_TRY(spend(1, 0));
  if (depth_ >= limits_.depth)
    return Error(err::kChatLimit, "the chat template calls itself too deeply")
        .todo("use the template that the model was published with");
  ++depth_;
  Result<Value> v = eval_kind(e);
  --depth_;
  if (!v.ok() && v.error().where().empty())
    v.error().at(fmt::format("chat template, line {}", e.line));
  return v;
}

Result<Value> Renderer::eval_kind(const Expression& e) {
  switch (e.kind) {
    case Expression::constant:
      return e.value;
    case Expression::variable:
      return eval_name(e.name);
    case Expression::captured:
      return written_;
    case Expression::list:
    case Expression::tuple: {
      Values items;
      for (const ExpressionPtr& kid : e.kids) items.push_back(HONE_TRY(eval(*kid)));
      HONE_TRY(spend(0, static_cast<int64_t>(items.size()) * 40));
      return checked(e.kind == Expression::list ? Value::list(std::move(items))
                                                : Value::tuple(std::move(items)));
    }
    case Expression::dict: {
      std::vector<std::pair<Value, Value>> pairs;
      for (size_t i = 0; i + 1 < e.kids.size(); i += 2) {
        Value key = HONE_TRY(eval(*e.kids[i]));
        if (!hashable(key)) return wrong(fmt::format("a {} cannot be a key", type_name(key)));
        Value value = HONE_TRY(eval(*e.kids[i + 1]));
        pairs.emplace_back(std::move(key), std::move(value));
      }
      HONE_TRY(spend(0, static_cast<int64_t>(pairs.size()) * 80));
      return checked(Value::dict(std::move(pairs)));
    }
    case Expression::attribute: {
      const Value of = HONE_TRY(eval(*e.kids[0]));
      return attribute(of, tree_.names[e.name]);
    }
    case Expression::item: {
      const Value of = HONE_TRY(eval(*e.kids[0]));
      return item(of, HONE_TRY(eval(*e.kids[1])));
    }
    case Expression::slice:
      return eval_slice(e);
    case Expression::call: {
      const Value f = HONE_TRY(eval(*e.kids[0]));
      CallArguments a = HONE_TRY(eval_arguments(e.arguments));
      return call(f, std::move(a));
    }
    case Expression::filter: {
      const Value v = HONE_TRY(eval(*e.kids[0]));
      const CallArguments a = HONE_TRY(eval_arguments(e.arguments));
      return filter(tree_.names[e.name], v, a);
    }
    case Expression::test: {
      const Value v = HONE_TRY(eval(*e.kids[0]));
      const CallArguments a = HONE_TRY(eval_arguments(e.arguments));
      return Value(HONE_TRY(test(tree_.names[e.name], v, a)));
    }
    case Expression::choice:
      if (truth(HONE_TRY(eval(*e.kids[0])))) return eval(*e.kids[1]);
      if (e.kids[2]) return eval(*e.kids[2]);
      return Value::undefined("the inline if is false and has no else");
    case Expression::all:
    case Expression::any: {
      Value v;
      for (const ExpressionPtr& kid : e.kids) {
        v = HONE_TRY(eval(*kid));
        if (truth(v) == (e.kind == Expression::any)) break;
      }
      return v;
    }
    case Expression::negation:
      return Value(!truth(HONE_TRY(eval(*e.kids[0]))));
    case Expression::compare:
      return eval_compare(e);
    case Expression::concat: {
      std::string all;
      for (const ExpressionPtr& kid : e.kids) {
        const std::string part = str(HONE_TRY(eval(*kid)));
        HONE_TRY(room_for(static_cast<int64_t>(all.size() + part.size())));
        bytes_ -= static_cast<int64_t>(all.size());
        all += part;
      }
      return Value(std::move(all));
    }
    case Expression::binary: {
      const Value a = HONE_TRY(eval(*e.kids[0]));
      const Value b = HONE_TRY(eval(*e.kids[1]));
      Value v = HONE_TRY(binary(*this, e.ops[0], a, b));
      HONE_TRY(spend(0, cost_of(v)));
      return checked(std::move(v));
    }
    case Expression::unary: {
      const Value v = HONE_TRY(eval(*e.kids[0]));
      if (v.is(Kind::undefined)) return wrong(why_undefined(v));
      if (!v.is_number()) return wrong(fmt::format("a {} has no sign", type_name(v)));
      if (e.ops[0] == "+") return v.is(Kind::real) ? Value(v.real()) : Value(v.integer());
      if (v.is(Kind::real)) return Value(-v.real());
      if (v.integer() == INT64_MIN) return wrong("a number is beyond 64 bits");
      return Value(-v.integer());
    }
    case Expression::member:
      break;
  }
  return wrong("this cannot be evaluated");
}

Result<Value> Renderer::eval_name(NameId id) {
  for (const Scope* s = scope_; s; s = s->parent)
    for (const auto& [name, value] : s->values)
      if (name == id) return value;
  const std::string& name = tree_.names[id];
  if (is_function(name)) return Value::function(name);
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Result<Value> Renderer::eval_slice(const Expression& e) {
  const Value of = HONE_TRY(eval(*e.kids[0]));
  std::optional<int64_t> at[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!e.kids[i + 1]) continue;
    const Value v = HONE_TRY(eval(*e.kids[i + 1]));
    if (!v.is(Kind::none)) at[i] = HONE_TRY(whole_argument(v, "the place of a slice"));
  }
  const int64_t step = at[2].value_or(1);
  if (step == 0) return wrong("the step of a slice is 0");
  if (of.is(Kind::text)) {
    const Bounds b = bounds_of(at[0], at[1], step, length_of(of.text()));
    Value v(slice_text(of.text(), b.from, b.to, b.step));
    HONE_TRY(spend(0, cost_of(v) + static_cast<int64_t>(of.text().size()) / 16));
    return v;
  }
  if (of.is(Kind::undefined)) return wrong(why_undefined(of));
  if (!of.is(Kind::list) && !of.is(Kind::tuple) && !of.is(Kind::range))
    return wrong(fmt::format("a {} has no slices", type_name(of)));
  const Bounds b = bounds_of(at[0], at[1], step, static_cast<int64_t>(of.items().size()));
  HONE_TRY(spend(0, b.count() * 40));
  Values items;
  for (int64_t n = 0; n < b.count(); ++n)
    items.push_back(of.items()[static_cast<size_t>(b.from + n * b.step)]);
  if (!of.is(Kind::range)) return Value::sequence(of.kind(), std::move(items));
  return range_of(std::move(items));
}

Result<Value> Renderer::eval_compare(const Expression& e) {
  Value left = HONE_TRY(eval(*e.kids[0]));
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Value right = HONE_TRY(eval(*e.kids[i + 1]));
    const std::string& op = e.ops[i];
    bool holds = false;
    if (op == "==" || op == "!=") {
      HONE_TRY(spend(0, std::min(left.weight(), right.weight()) / 16));
      holds = equal(left, right) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = HONE_TRY(contains(*this, right, left)) == (op == "in");
    } else {
      HONE_TRY(spend(0, std::min(left.weight(), right.weight()) / 16));
      holds = compares(op, HONE_TRY(order(left, right)));
    }
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<CallArguments> Renderer::eval_arguments(const std::vector<Argument>& arguments) {
  CallArguments out;
  for (const Argument& a : arguments) {
    Value v = HONE_TRY(eval(*a.value));
    if (a.kind == Argument::plain) {
      out.plain.push_back(std::move(v));
    } else if (a.kind == Argument::named) {
      out.named.emplace_back(tree_.names[a.name], std::move(v));
    } else if (a.kind == Argument::spread) {
      Values items = HONE_TRY(items_of(v));
      HONE_TRY(spend(0, static_cast<int64_t>(items.size()) * 40));
      for (Value& item : items) out.plain.push_back(std::move(item));
    } else {
      if (!v.is(Kind::dict)) return wrong("'**' needs a dict");
      HONE_TRY(spend(static_cast<int64_t>(v.pairs().size()), 0));
      for (const auto& [key, value] : v.pairs()) {
        if (!key.is(Kind::text)) return wrong("'**' needs a dict with texts as keys");
        out.named.emplace_back(key.text(), value);
      }
    }
  }
  return out;
}

Result<Value> Renderer::call(const Value& f, CallArguments a) {
  if (f.is(Kind::macro)) return call_macro(*static_cast<const Macro*>(f.object()), std::move(a));
  if (f.is(Kind::undefined)) return wrong(why_undefined(f));
  if (!f.is(Kind::function) && !f.is(Kind::method))
    return wrong(fmt::format("a {} cannot be called", type_name(f)));
  if (f.is(Kind::method)) HONE_TRY(spend(0, f.self().is(Kind::text) ? f.self().weight() / 16 : 0));
  Value v = HONE_TRY(f.is(Kind::function) ? call_function(*this, f.name(), a)
                                          : call_method(*this, f.self(), f.name(), a));
  HONE_TRY(spend(0, cost_of(v)));
  return checked(std::move(v));
}

Result<Value> Renderer::filter(const std::string& name, const Value& v, const CallArguments& a) {
  const FilterFunction f = find_filter(name);
  if (!f) {
    const std::string near = nearest_name(name, filter_names());
    return wrong(fmt::format("there is no filter '{}'", name))
        .todo(near.empty() ? "write the template without it"
                           : fmt::format("did you mean '{}'?", near));
  }
  HONE_TRY(spend(1, v.is(Kind::text) ? v.weight() / 16 : 0));
  Value made = HONE_TRY(f(*this, v, a));
  HONE_TRY(spend(0, cost_of(made)));
  return checked(std::move(made));
}

Result<Value> Renderer::attribute(const Value& of, const std::string& name) {
  if (of.is(Kind::undefined)) return wrong(why_undefined(of));
  if (of.is(Kind::space)) {
    const auto& values = static_cast<const Namespace*>(of.object())->values;
    const auto at = values.find(name);
    return at == values.end() ? missing(of, name) : at->second;
  }
  if (of.is(Kind::loop))
    if (auto v = loop_attribute(*static_cast<const LoopState*>(of.loop()), name))
      return std::move(*v);
  if (of.is(Kind::macro) && name == "name")
    return Value(tree_.names[static_cast<const Macro*>(of.object())->definition->name]);
  const MethodKind method = method_of(of, name);
  if (method == MethodKind::method) return Value::method(of, name);
  if (method == MethodKind::forbidden)
    return Value::undefined(
        fmt::format("a template may not change a {}: '{}'", type_name(of), name));
  if (of.is(Kind::dict))
    if (const Value* v = of.find(Value(name))) return *v;
  return missing(of, name);
}

Result<Value> Renderer::item(const Value& of, const Value& key) {
  if (of.is(Kind::undefined)) return wrong(why_undefined(of));
  if (of.is(Kind::dict)) {
    if (hashable(key)) {
      HONE_TRY(spend(key.is(Kind::text) ? 0 : static_cast<int64_t>(of.pairs().size()) / 16, 0));
      if (const Value* v = of.find(key)) return *v;
    }
  } else if (key.is_whole() && (of.is(Kind::list) || of.is(Kind::tuple) || of.is(Kind::range))) {
    const auto count = static_cast<int64_t>(of.items().size());
    const int64_t at = key.integer() < 0 ? key.integer() + count : key.integer();
    if (at >= 0 && at < count) return of.items()[static_cast<size_t>(at)];
  } else if (key.is_whole() && of.is(Kind::text)) {
    const std::string& text = of.text();
    if (!of.ascii()) HONE_TRY(spend(0, static_cast<int64_t>(text.size()) / 16));
    const int64_t count = of.ascii() ? static_cast<int64_t>(text.size()) : length_of(text);
    const int64_t at = key.integer() < 0 ? key.integer() + count : key.integer();
    if (at >= 0 && at < count)
      return of.ascii() ? Value(text.substr(static_cast<size_t>(at), 1))
                        : Value(slice_text(text, at, at + 1, 1));
  }
  if (!key.is(Kind::text)) return missing(of, str(key));
  if (of.is(Kind::dict) && method_of(of, key.text()) == MethodKind::none)
    return missing(of, key.text());
  return attribute(of, key.text());
}

Result<Value> Renderer::path(Value of, const Value& path, const std::optional<Value>& fallback) {
  Values parts;
  if (path.is(Kind::text)) {
    for (const std::string_view part : split_text(path.text(), ".", -1, false)) {
      const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
      const auto number = digits ? whole_of(part) : std::nullopt;
      parts.push_back(number ? Value(*number) : Value(part));
    }
  } else if (!path.is(Kind::none)) {
    parts.push_back(path);
  }
  for (const Value& part : parts) {
    of = HONE_TRY(item(of, part));
    if (fallback && of.is(Kind::undefined)) of = *fallback;
  }
  return of;
}

}  // namespace hone::chat
