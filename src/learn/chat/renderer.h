// Runs a tree. Templates come from outside, so steps, bytes and depth are limited.
#pragma once

#include <deque>

#include "base/core/clock.h"
#include "learn/chat/chat_text.h"
#include "learn/chat/tree.h"

namespace hone::chat {

struct CallArguments {
  Values plain;
  std::vector<std::pair<std::string, Value>> named;
};

// Names of variables and their values; those around it are in `parent`.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<NameId, Value>> values = {};
  bool captured = false;  // a macro looks into it: it lives until the end
};

struct Macro {
  const Statement* definition;  // macro or call_block
  Scope* scope;
};

struct Namespace {
  std::unordered_map<std::string, Value> values;
};

struct LoopState {
  Values items;
  size_t index = 0;
};

class Renderer {
 public:
  Renderer(const Tree& tree, const ChatLimits& limits, const Clock& clock)
      : tree_(tree), limits_(limits), clock_(clock) {}
  // Once.
  Result<ChatText> run(const OrderedJson& variables);

  // --- for filters, tests and methods: errors are H2912, or H2913 at a limit ---
  Result<Value> attribute(const Value& of, const std::string& name);
  Result<Value> item(const Value& of, const Value& key);
  // "a.b.0": item by item.
  Result<Value> path(Value of, const Value& path, const std::optional<Value>& fallback = {});
  Result<Value> filter(const std::string& name, const Value& v, const CallArguments& a);
  Result<bool> test(const std::string& name, const Value& v, const CallArguments& a);
  // The values that a for iterates over; a stream is consumed.
  Result<Values> items_of(const Value& v);
  Status spend(int64_t steps, int64_t bytes);
  // Refuses a text of `bytes` before it is made.
  Status room_for(int64_t bytes);
  const Clock& clock() const { return clock_; }
  Result<Value> make_namespace(const CallArguments& a);

 private:
  enum class Flow { on, leave, next };
  class Entered;   // a scope while it runs
  class Captured;  // output into a text

  Result<Flow> exec(const Body& body);
  Result<Flow> exec(const Statement& s);
  Result<Flow> exec_for(const Statement& s);
  Status exec_call_block(const Statement& s);
  Result<Value> body_text(const Body& body);
  Status assign(const Expression& target, Value v);
  Status write(const Value& v);

  Result<Value> eval(const Expression& e);
  Result<Value> eval_kind(const Expression& e);
  Result<Value> eval_name(NameId id);
  Result<Value> eval_slice(const Expression& e);
  Result<Value> eval_compare(const Expression& e);
  Result<CallArguments> eval_arguments(const std::vector<Argument>& arguments);
  Result<Value> call(const Value& f, CallArguments a);
  Result<Value> call_macro(const Macro& m, CallArguments a);
  Value define(const Statement& s);
  Result<Value> checked(Value v);  // its weight and depth

  const Tree& tree_;
  const ChatLimits& limits_;
  const Clock& clock_;
  std::deque<Macro> macros_;
  std::deque<Namespace> namespaces_;
  std::vector<std::unique_ptr<Scope>> captured_;
  Scope* scope_ = nullptr;
  std::string main_;
  std::string* out_ = &main_;
  Value written_;  // output of a block with a filter
  std::vector<ChatSpan> spans_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

// --- the environment -----------------------------------------------------------------------------

// The arguments in the order of `names`; the first `needed` are there. H2912.
Result<std::vector<std::optional<Value>>> bind(std::string_view function, const CallArguments& a,
                                               const std::vector<const char*>& names,
                                               size_t needed = 0);
using FilterFunction = Result<Value> (*)(Renderer&, const Value&, const CallArguments&);
FilterFunction find_filter(std::string_view name);  // null: there is none
FilterFunction find_list_filter(std::string_view name);
std::vector<std::string> filter_names();
bool is_test(std::string_view name);

// Python's methods of texts, dicts and sequences.
enum class MethodKind { none, method, forbidden };  // forbidden: it changes the value
MethodKind method_of(const Value& v, std::string_view name);
Result<Value> call_method(Renderer& r, const Value& self, const std::string& name,
                          const CallArguments& a);
bool is_function(std::string_view name);
Result<Value> call_function(Renderer& r, const std::string& name, const CallArguments& a);

Result<Value> binary(Renderer& r, const std::string& op, const Value& a, const Value& b);
Result<bool> contains(Renderer& r, const Value& in, const Value& v);

// "%s of %d" % values, and "{} of {n}".format(...).
Result<std::string> format_percent(Renderer& r, std::string_view form, const Value& values);
Result<std::string> format_braces(Renderer& r, std::string_view form, const CallArguments& a);
// A number or text by the rest of "{:...}".
Result<std::string> format_by(Renderer& r, const Value& v, std::string_view spec);

// int() and float() of Python; none if Python would raise.
std::optional<int64_t> whole_of(std::string_view text, int base = 10);
std::optional<double> real_of(std::string_view text);
// An argument that must be a whole number.
Result<int64_t> whole_argument(const Value& v, std::string_view name);

}  // namespace hone::chat
