// Runs the tree of a chat template. Templates come from unknown authors, so steps, bytes and depth are limited.
#pragma once

#include <deque>

#include "base/core/clock.h"
#include "learn/chat/chat_text.h"
#include "learn/chat/tree.h"

namespace hone::chat {

// The arguments of a call: positional ones, and those with a name.
struct CallArguments {
  Values plain;
  std::vector<std::pair<std::string, Value>> named;
};

// A block's variables and their values. `parent` is the scope of the block around it.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<NameId, Value>> values = {};
  bool captured = false;  // a macro uses it, so it lives until the run ends
};

// A macro, or the body of a call block.
struct Macro {
  const Statement* definition;  // of kind macro or call_block
  Scope* scope;                 // the scope in which it was defined
};

// The object that namespace() creates. Its members can be set.
struct Namespace {
  std::unordered_map<std::string, Value> values;
};

// The state of a for loop: its items, and the index of the current one.
struct LoopState {
  Values items;
  size_t index = 0;
};

class Renderer {
 public:
  Renderer(const Tree& tree, const ChatLimits& limits, const Clock& clock)
      : tree_(tree), limits_(limits), clock_(clock) {}
  // Runs the template with these variables. Call it only once. Errors: H2912, H2913 as ChatTemplate::render.
  Result<ChatText> run(const OrderedJson& variables);

  // --- for filters, tests and methods. Errors: H2912 if Python or Jinja would raise; H2913 at a limit ---
  // of.name and of[key]; an undefined value if there is no such member. Errors: also H2912 if `of` is undefined.
  Result<Value> attribute(const Value& of, const std::string& name);
  Result<Value> item(const Value& of, const Value& key);
  // of[a][b][0] for the path "a.b.0". `fallback` replaces parts that are undefined.
  Result<Value> path(Value of, const Value& path, const std::optional<Value>& fallback = {});
  // The filter `v | name(a)` and the test `v is name(a)`.
  Result<Value> filter(const std::string& name, const Value& v, const CallArguments& a);
  Result<bool> test(const std::string& name, const Value& v, const CallArguments& a);
  // The values over which a for loop over `v` runs. If `v` is a stream, takes all its values out of it.
  Result<Values> items_of(const Value& v);
  // Adds to the steps and bytes of this run. Errors: H2913 a limit is exceeded.
  Status spend(int64_t steps, int64_t bytes);
  // Call it before you create a text of this size; adds to the bytes of this run. Errors: H2913 the text is too large.
  Status room_for(int64_t bytes);
  const Clock& clock() const { return clock_; }
  Result<Value> make_namespace(const CallArguments& a);

 private:
  enum class Flow { on, leave, next };  // how a body ended: normally, by break, by continue
  class Entered;                        // makes a new scope the current one during its life
  class Captured;                       // redirects the output into a text during its life

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
  Result<Value> checked(Value v);  // v, or H2913 if it is too large or too deep

  const Tree& tree_;
  const ChatLimits& limits_;
  const Clock& clock_;
  std::deque<Macro> macros_;
  std::deque<Namespace> namespaces_;
  std::vector<std::unique_ptr<Scope>> captured_;
  Scope* scope_ = nullptr;
  std::string main_;
  std::string* out_ = &main_;
  Value written_;  // the output of a block with a filter: the value of Expression::captured
  std::vector<ChatSpan> spans_;
  int64_t steps_ = 0, bytes_ = 0;
  int depth_ = 0;
};

// --- the environment -----------------------------------------------------------------------------

// Matches the arguments of a call to the parameters `names`. result[i] is the argument for names[i]; none if it was not
// given. Errors: H2912 an unknown or superfluous argument, or one of the first `needed` parameters has no argument.
// `function` is the name for messages.
Result<std::vector<std::optional<Value>>> bind(std::string_view function, const CallArguments& a,
                                               const std::vector<const char*>& names,
                                               size_t needed = 0);
// A filter: its second argument is the value before "|".
using FilterFunction = Result<Value> (*)(Renderer&, const Value&, const CallArguments&);
FilterFunction find_filter(std::string_view name);       // null: there is no such filter
FilterFunction find_list_filter(std::string_view name);  // finds only filters of list_filters.cc
std::vector<std::string> filter_names();
bool is_test(std::string_view name);

// Python's methods of texts, dicts and sequences. forbidden: Python has the method, but it would change the value.
enum class MethodKind { none, method, forbidden };
MethodKind method_of(const Value& v, std::string_view name);
Result<Value> call_method(Renderer& r, const Value& self, const std::string& name,
                          const CallArguments& a);
// The global functions, such as range() and raise_exception().
bool is_function(std::string_view name);
Result<Value> call_function(Renderer& r, const std::string& name, const CallArguments& a);

// binary(): a op b for + - * / // % **. contains(): Python's `v in x`; x is the argument `in`.
Result<Value> binary(Renderer& r, const std::string& op, const Value& a, const Value& b);
Result<bool> contains(Renderer& r, const Value& in, const Value& v);

// Python's "%s of %d" % values, and "{} of {n}".format(...).
Result<std::string> format_percent(Renderer& r, std::string_view form, const Value& values);
Result<std::string> format_braces(Renderer& r, std::string_view form, const CallArguments& a);
// Formats a value by the format spec after the colon in "{:...}".
Result<std::string> format_by(Renderer& r, const Value& v, std::string_view spec);

// Python's int(text, base) and float(text); none if Python would raise, or the integer needs more than 64 bits.
std::optional<int64_t> whole_of(std::string_view text, int base = 10);
std::optional<double> real_of(std::string_view text);
// The value of an argument that must be an integer. `name` is its name in messages. Errors: H2912 it is not an integer.
Result<int64_t> whole_argument(const Value& v, std::string_view name);

}  // namespace hone::chat
