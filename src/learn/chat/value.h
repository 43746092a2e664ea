// A value in a chat template. It behaves like the Python value that Jinja would use. Values other than namespaces and
// streams never change, so copies share their contents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone::chat {

enum class Kind : uint8_t {
  undefined,  // has_text(): text() is the reason, for the error when the value is used
  none,
  boolean,
  integer,
  real,
  text,  // UTF-8
  list,
  tuple,
  range,
  view,    // the result of dict.items(), keys() or values()
  stream,  // a generator: its items can be read only once
  dict,
  space,     // a namespace object
  loop,      // the variable `loop` in a for loop
  macro,     // a macro, or caller
  function,  // a global function
  method,    // a method of a value, not called yet
};

class Value;
using Values = std::vector<Value>;

class Value {
 public:
  Value() = default;  // undefined, without a reason
  Value(bool v) : kind_(Kind::boolean), integer_(v) {}
  Value(int64_t v) : kind_(Kind::integer), integer_(v) {}
  Value(double v) : kind_(Kind::real), real_(v) {}
  Value(std::string text);
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  template <class T>
  Value(T*) = delete;

  static Value undefined(std::string why);
  static Value none();
  static Value list(Values items) { return sequence(Kind::list, std::move(items)); }
  static Value tuple(Values items) { return sequence(Kind::tuple, std::move(items)); }
  static Value stream(Values items) { return sequence(Kind::stream, std::move(items)); }
  // `kind` is list, tuple, range, view or stream. `shown` is the text of a range ("range(0, 3)"), or the name of a
  // view's class ("dict_items").
  static Value sequence(Kind kind, Values items, std::string shown = "");
  // If a key appears twice, the later value replaces the earlier one at its place. Keys must be hashable().
  static Value dict(std::vector<std::pair<Value, Value>> pairs);
  static Value function(std::string_view name);
  static Value method(Value self, std::string_view name);
  // A macro or namespace of the renderer (renderer.h), which must outlive the value.
  static Value object(Kind kind, void* object);
  static Value loop(std::shared_ptr<const void> state);  // `state` is a LoopState of renderer.h
  // Converts JSON. Integers that do not fit int64_t become reals.
  static Value of(const OrderedJson& json);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return kind_ >= Kind::boolean && kind_ <= Kind::real; }
  bool is_whole() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
  bool is_sequence() const { return kind_ >= Kind::list && kind_ <= Kind::stream; }
  // Approximately the number of bytes of the printed value. A part that appears several times counts each time, even if
  // its memory is shared. The renderer refuses values with a large weight or level.
  int64_t weight() const { return weight_; }
  // Nesting depth: 0 for a number or text, 1 for a list of numbers.
  int level() const { return level_; }

  // Call these only on a value of the right kind.
  int64_t integer() const { return integer_; }  // boolean (0 or 1), integer
  double real() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  const std::string& text() const { return *static_cast<const std::string*>(held_.get()); }
  bool has_text() const { return held_ != nullptr; }  // undefined: text() is the reason
  const Values& items() const { return held_sequence().items; }
  void* object() const { return object_; }
  const void* loop() const { return held_.get(); }
  bool ascii() const { return ascii_; }  // text: all characters are ASCII
  const Value& self() const;             // method: the value that it belongs to
  const std::string& name() const;       // method, function
  // Takes the next items out of a stream, at most `most`.
  Values take_stream(size_t most = SIZE_MAX) const;
  const std::vector<std::pair<Value, Value>>& pairs() const;  // dict, in the order of insertion
  // dict: the value for a key; null if there is none.
  const Value* find(const Value& key) const;

 private:
  friend bool same_object(const Value& a, const Value& b);
  friend std::string repr(const Value& v);
  struct Sequence {
    Values items;
    std::string shown;
    mutable size_t next = 0;  // stream: the index of the next item
  };
  struct Dict {
    std::vector<std::pair<Value, Value>> pairs;
    // Index into `pairs` of keys that are text, in large dicts.
    std::unordered_map<std::string_view, size_t> texts;
  };
  struct Named {
    std::string name;
    std::vector<Value> self;
  };
  void add_weight(const Value& part);
  const Sequence& held_sequence() const { return *static_cast<const Sequence*>(held_.get()); }

  Kind kind_ = Kind::undefined;
  bool ascii_ = false;
  uint16_t level_ = 0;
  int64_t weight_ = 16;
  union {
    int64_t integer_ = 0;
    double real_;
    void* object_;
  };
  std::shared_ptr<const void> held_;  // shared: assignments and arguments copy no text
};

// --- operations of Python ------------------------------------------------------------------------

bool truth(const Value& v);
bool equal(const Value& a, const Value& b);
bool same_object(const Value& a, const Value& b);  // Python's `is`
// -1, 0 or 1 if a is less than, equal to or greater than b. Errors: H2912 Python cannot compare the values.
Result<int> order(const Value& a, const Value& b);
bool hashable(const Value& v);
const char* type_name(const Value& v);      // the name of the Python type: "str", "dict"
std::string why_undefined(const Value& v);  // the reason of an undefined value, for a message
std::string str(const Value& v);
std::string repr(const Value& v);

// The arguments of json.dumps. ascii: ensure_ascii; indent: the indent of one level as text, none: all on one line;
// comma and colon: separators.
struct DumpStyle {
  bool ascii = false, sort_keys = false;
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
};
// Appends the value as JSON to `out`, as Python's json.dumps. Errors: H2912 the value cannot be written as JSON.
Status dump(const Value& v, const DumpStyle& style, std::string& out);

Error wrong(std::string_view what);  // error H2912 with this message

}  // namespace hone::chat
