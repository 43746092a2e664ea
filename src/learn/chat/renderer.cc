#include "learn/chat/renderer.h"

#include "learn/chat/errors.h"
#include "learn/chat/python_text.h"

namespace hone::chat {
namespace {

constexpr int kMostLevels = 300;  // of values in values
constexpr int64_t kMostWeight = int64_t{64} << 20;

Error over_limit(std::string_view what) {
  return Error(err::kChatLimit, what)
      .todo("use the template that the model was published with, or a shorter chat");
}

}  // namespace

class Renderer::Entered {
 public:
  Entered(Renderer& r, Scope* parent) : r_(r), before_(r.scope_), own_(std::make_unique<Scope>()) {
    own_->parent = parent;
    r.scope_ = own_.get();
  }
  Entered(const Entered&) = delete;
  ~Entered() {
    r_.scope_ = before_;
    if (own_->captured) r_.captured_.push_back(std::move(own_));
  }
  void set(NameId id, Value v) { own_->values.emplace_back(id, std::move(v)); }

 private:
  Renderer& r_;
  Scope* before_;
  std::unique_ptr<Scope> own_;
};

class Renderer::Captured {
 public:
  explicit Captured(Renderer& r) : r_(r), before_(std::exchange(r.out_, &text_)) {}
  Captured(const Captured&) = delete;
  ~Captured() { r_.out_ = before_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  Renderer& r_;
  std::string* before_;
};

Result<ChatText> Renderer::run(const OrderedJson& variables) {
  Scope root;
  scope_ = &root;
  for (NameId id = 0; id < tree_.names.size(); ++id)
    if (const auto at = variables.find(tree_.names[id]); at != variables.end())
      root.values.emplace_back(id, Value::of(*at));
  HONE_TRY(exec(tree_.body));
  return ChatText{std::move(main_), std::move(spans_)};
}

Status Renderer::spend(int64_t steps, int64_t bytes) {
  steps_ += steps;
  bytes_ += bytes;
  if (steps_ > limits_.steps)
    return over_limit(fmt::format("the chat template takes more than {} steps", limits_.steps));
  if (bytes_ > limits_.bytes)
    return over_limit(fmt::format("the chat template makes more than {} bytes", limits_.bytes));
  return Ok{};
}

Status Renderer::room_for(int64_t bytes) {
  if (bytes > limits_.text)
    return over_limit(
        fmt::format("the chat template makes a text of more than {} bytes", limits_.text));
  return spend(0, bytes);
}

Result<Value> Renderer::checked(Value v) {
  if (v.weight() > kMostWeight || v.level() > kMostLevels)
    return over_limit(fmt::format("the chat template makes a {} that is too large", type_name(v)));
  return v;
}

Status Renderer::write(const Value& v) {
  const std::string made = v.is(Kind::text) ? "" : str(v);
  const std::string& text = v.is(Kind::text) ? v.text() : made;
  HONE_TRY(room_for(static_cast<int64_t>(out_->size() + text.size())));
  bytes_ -= static_cast<int64_t>(out_->size());  // it was paid for when it was written
  *out_ += text;
  return Ok{};
}

Result<Renderer::Flow> Renderer::exec(const Body& body) {
  for (const auto& s : body) {
    Result<Flow> flow = exec(*s);
    if (!flow.ok()) {
      if (flow.error().where().empty())
        flow.error().at(fmt::format("chat template, line {}", s->line));
      return flow;
    }
    if (*flow != Flow::on) return flow;
  }
  return Flow::on;
}

Result<Renderer::Flow> Renderer::exec(const Statement& s) {
  HONE_TRY(spend(1, 0));
  if (depth_ >= limits_.depth) return over_limit("the chat template calls itself too deeply");
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
  } deeper(depth_);
  switch (s.kind) {
    case Statement::data:
      HONE_TRY(write(s.text));
      return Flow::on;
    case Statement::output:
      HONE_TRY(write(HONE_TRY(eval(*s.expression))));
      return Flow::on;
    case Statement::set:
      HONE_TRY(assign(*s.target, HONE_TRY(eval(*s.expression))));
      return Flow::on;
    case Statement::set_block: {
      Value text = HONE_TRY(body_text(s.body));
      if (s.expression) {
        written_ = std::move(text);
        text = HONE_TRY(eval(*s.expression));
      }
      HONE_TRY(assign(*s.target, std::move(text)));
      return Flow::on;
    }
    case Statement::filter_block:
      written_ = HONE_TRY(body_text(s.body));
      HONE_TRY(write(HONE_TRY(eval(*s.expression))));
      return Flow::on;
    case Statement::choice:
      for (const Branch& b : s.branches)
        if (!b.condition || truth(HONE_TRY(eval(*b.condition)))) return exec(b.body);
      return Flow::on;
    case Statement::loop:
      return exec_for(s);
    case Statement::macro: {
      HONE_TRY(spend(0, 256));
      Value macro = define(s);
      Expression target;
      target.kind = Expression::variable;
      target.name = s.name;
      HONE_TRY(assign(target, std::move(macro)));
      return Flow::on;
    }
    case Statement::call_block:
      HONE_TRY(exec_call_block(s));
      return Flow::on;
    case Statement::with: {
      Values values;
      for (const ExpressionPtr& v : s.values) values.push_back(HONE_TRY(eval(*v)));
      Entered scope(*this, scope_);
      for (size_t i = 0; i < values.size(); ++i) HONE_TRY(assign(*s.targets[i], values[i]));
      return exec(s.body);
    }
    case Statement::scope: {
      Entered scope(*this, scope_);
      return exec(s.body);
    }
    case Statement::generation: {
      const size_t from = main_.size();
      Entered scope(*this, scope_);
      const Flow flow = HONE_TRY(exec(s.body));
      if (out_ == &main_) spans_.push_back({from, main_.size()});
      return flow;
    }
    case Statement::leave:
      return Flow::leave;
    case Statement::next:
      return Flow::next;
  }
  return Flow::on;
}

Result<Renderer::Flow> Renderer::exec_for(const Statement& s) {
  const auto state = std::make_shared<LoopState>();
  Values all = HONE_TRY(items_of(HONE_TRY(eval(*s.expression))));
  HONE_TRY(spend(0, static_cast<int64_t>(all.size()) * 40));
  if (s.condition) {
    for (Value& v : all) {
      Entered scope(*this, scope_);
      HONE_TRY(spend(1, 0));
      HONE_TRY(assign(*s.target, v));
      if (truth(HONE_TRY(eval(*s.condition)))) state->items.push_back(std::move(v));
    }
  } else {
    state->items = std::move(all);
  }
  if (state->items.empty()) {
    Entered scope(*this, scope_);
    return exec(s.otherwise);
  }
  const auto loop_name = static_cast<NameId>(
      std::find(tree_.names.begin(), tree_.names.end(), "loop") - tree_.names.begin());
  for (; state->index < state->items.size(); ++state->index) {
    HONE_TRY(spend(1, 0));
    Entered scope(*this, scope_);
    if (loop_name < tree_.names.size()) scope.set(loop_name, Value::loop(state));
    HONE_TRY(assign(*s.target, state->items[state->index]));
    const Flow flow = HONE_TRY(exec(s.body));
    if (flow == Flow::leave) break;
  }
  return Flow::on;
}

Value Renderer::define(const Statement& s) {
  macros_.push_back({&s, scope_});
  for (Scope* o = scope_; o && !o->captured; o = o->parent) o->captured = true;
  return Value::object(Kind::macro, &macros_.back());
}

Status Renderer::exec_call_block(const Statement& s) {
  HONE_TRY(spend(0, 256));
  const Value caller = define(s);
  const Value f = HONE_TRY(eval(*s.expression->kids[0]));
  CallArguments a = HONE_TRY(eval_arguments(s.expression->arguments));
  a.named.emplace_back("caller", caller);
  return write(HONE_TRY(call(f, std::move(a))));
}

Result<Value> Renderer::body_text(const Body& body) {
  Captured text(*this);
  Entered scope(*this, scope_);
  HONE_TRY(exec(body));
  return Value(text.take());
}

Status Renderer::assign(const Expression& target, Value v) {
  if (target.kind == Expression::variable) {
    for (auto& [id, old] : scope_->values)
      if (id == target.name) {
        old = std::move(v);
        return Ok{};
      }
    scope_->values.emplace_back(target.name, std::move(v));
    return Ok{};
  }
  if (target.kind == Expression::member) {
    const Value space = HONE_TRY(eval_name(target.name));
    if (!space.is(Kind::space))
      return wrong(fmt::format("'{}' is not a namespace: its members cannot be set",
                               tree_.names[target.name]));
    auto& values = static_cast<Namespace*>(space.object())->values;
    HONE_TRY(spend(0, 64));
    values[tree_.names[target.attribute_name]] = std::move(v);
    return Ok{};
  }
  Values parts = HONE_TRY(items_of(v));
  if (parts.size() != target.kids.size())
    return wrong(fmt::format("{} values are given to {} names", parts.size(), target.kids.size()));
  for (size_t i = 0; i < parts.size(); ++i) HONE_TRY(assign(*target.kids[i], std::move(parts[i])));
  return Ok{};
}

Result<Value> Renderer::call_macro(const Macro& m, CallArguments a) {
  const Statement& s = *m.definition;
  const std::string& name = tree_.names[s.name];
  const size_t count = s.parameters.size();
  std::vector<std::optional<Value>> given(count);
  for (size_t i = 0; i < std::min(count, a.plain.size()); ++i) given[i] = std::move(a.plain[i]);
  std::vector<std::pair<Value, Value>> others;
  std::optional<Value> caller;
  for (auto& [key, value] : a.named) {
    size_t i = std::min(count, a.plain.size());
    while (i < count && tree_.names[s.parameters[i].name] != key) ++i;
    if (i < count)
      given[i] = std::move(value);
    else if (key == "caller" && s.uses_caller)
      caller = std::move(value);
    else if (s.uses_kwargs)
      others.emplace_back(key, std::move(value));
    else
      return wrong(fmt::format("the macro '{}' has no argument '{}'", name, key));
  }
  if (a.plain.size() > count && !s.uses_varargs)
    return wrong(fmt::format("the macro '{}' takes {} arguments, and {} are given", name, count,
                             a.plain.size()));
  Captured text(*this);
  Entered scope(*this, m.scope);
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = s.parameters[i];
    if (given[i])
      scope.set(p.name, std::move(*given[i]));
    else if (p.fallback)
      scope.set(p.name, HONE_TRY(eval(*p.fallback)));
    else
      scope.set(p.name, Value::undefined(fmt::format("the argument '{}' of '{}' is not given",
                                                     tree_.names[p.name], name)));
  }
  for (NameId id = 0; (s.uses_caller || s.uses_kwargs || s.uses_varargs) && id < tree_.names.size();
       ++id) {
    if (tree_.names[id] == "caller" && s.uses_caller && s.kind == Statement::macro)
      scope.set(id, caller ? *caller : Value::undefined("the macro has no caller"));
    if (tree_.names[id] == "kwargs" && s.uses_kwargs) scope.set(id, Value::dict(others));
    if (tree_.names[id] == "varargs" && s.uses_varargs) {
      Values rest;
      for (size_t i = count; i < a.plain.size(); ++i) rest.push_back(std::move(a.plain[i]));
      scope.set(id, Value::tuple(std::move(rest)));
    }
  }
  HONE_TRY(exec(s.body));
  return Value(text.take());
}

Result<Values> Renderer::items_of(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return Values();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view:
      return v.items();
    case Kind::stream:
      return v.take_stream();
    case Kind::dict: {
      Values keys;
      for (const auto& pair : v.pairs()) keys.push_back(pair.first);
      return keys;
    }
    case Kind::text: {
      Values chars;
      HONE_TRY(spend(static_cast<int64_t>(v.text().size()) / 4, 0));
      for (size_t at = 0; at < v.text().size();) {
        const std::string_view rest = std::string_view(v.text()).substr(at);
        const size_t n = byte_of(rest, 1);
        chars.emplace_back(rest.substr(0, n));
        at += n;
      }
      return chars;
    }
    default:
      return wrong(fmt::format("a {} cannot be gone through", type_name(v)));
  }
}

Result<Value> Renderer::make_namespace(const CallArguments& a) {
  HONE_TRY(spend(0, 256));
  namespaces_.emplace_back();
  Namespace& made = namespaces_.back();
  if (a.plain.size() > 1 || (a.plain.size() == 1 && !a.plain[0].is(Kind::dict)))
    return wrong("namespace takes a dict and names with values");
  if (a.plain.size() == 1)
    for (const auto& [key, value] : a.plain[0].pairs())
      if (key.is(Kind::text)) made.values[key.text()] = value;
  for (const auto& [key, value] : a.named) made.values[key] = value;
  HONE_TRY(spend(0, static_cast<int64_t>(made.values.size()) * 64));
  return Value::object(Kind::space, &made);
}

}  // namespace hone::chat
