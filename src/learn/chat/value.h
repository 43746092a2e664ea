// A value of a template: Python's, as far as templates can see it. Values do not change once they
// are made (only namespaces do), so copies share their contents.
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
  undefined,  // text(): why, for the error when it is used
  none,
  boolean,
  integer,
  real,
  text,  // UTF-8
  list,
  tuple,
  range,
  view,    // dict.items() and the like
  stream,  // a generator: can be walked once
  dict,
  space,     // namespace()
  loop,      // the variable `loop` of a for
  macro,     // and caller()
  function,  // of the environment, by name
  method,    // of a value, by name
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
  // `shown` is how it prints: "range(0, 3)", or the name of a view's class.
  static Value sequence(Kind kind, Values items, std::string shown = "");
  // A key that comes again replaces the value of the first. Keys are hashable().
  static Value dict(std::vector<std::pair<Value, Value>> pairs);
  static Value function(std::string_view name);
  static Value method(Value self, std::string_view name);
  // An object of the renderer that outlives the value.
  static Value object(Kind kind, void* object);
  static Value loop(std::shared_ptr<const void> state);
  // Numbers beyond 64 bits become reals.
  static Value of(const OrderedJson& json);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return kind_ >= Kind::boolean && kind_ <= Kind::real; }
  bool is_whole() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
  bool is_sequence() const { return kind_ >= Kind::list && kind_ <= Kind::stream; }
  // About the bytes that walking or writing the value takes. A part counts each time it appears, so
  // the value takes less memory if parts are shared. The renderer refuses large and deep values.
  int64_t weight() const { return weight_; }
  int level() const { return level_; }  // of values in values

  // Call these only on a value whose kind has them.
  int64_t integer() const { return integer_; }  // whole numbers
  double real() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  const std::string& text() const { return *static_cast<const std::string*>(held_.get()); }
  bool has_text() const { return held_ != nullptr; }  // undefined: there is a reason
  const Values& items() const { return held_sequence().items; }
  void* object() const { return object_; }
  const void* loop() const { return held_.get(); }
  bool ascii() const { return ascii_; }  // of a text: a character is a byte
  const Value& self() const;             // of a method
  const std::string& name() const;       // of a method or function
  // The items of a stream that are left; it is empty afterwards.
  Values take_stream(size_t most = SIZE_MAX) const;
  const std::vector<std::pair<Value, Value>>& pairs() const;
  const Value* find(const Value& key) const;  // in a dict

 private:
  friend bool same_object(const Value& a, const Value& b);
  friend std::string repr(const Value& v);
  struct Sequence {
    Values items;
    std::string shown;
    mutable size_t next = 0;  // of a stream
  };
  struct Dict {
    std::vector<std::pair<Value, Value>> pairs;
    std::unordered_map<std::string_view, size_t> texts;  // of many keys: those that are text
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

// --- as Python sees them -------------------------------------------------------------------------

bool truth(const Value& v);
bool equal(const Value& a, const Value& b);
bool same_object(const Value& a, const Value& b);  // `is`
// -1, 0, 1; H2912 where Python has no order.
Result<int> order(const Value& a, const Value& b);
bool hashable(const Value& v);
const char* type_name(const Value& v);  // "str", "dict"
std::string why_undefined(const Value& v);
std::string str(const Value& v);
std::string repr(const Value& v);

struct DumpStyle {
  bool ascii = false, sort_keys = false;
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
};
// json.dumps. H2912: JSON has no form for the value.
Status dump(const Value& v, const DumpStyle& style, std::string& out);

Error wrong(std::string_view what);  // H2912

}  // namespace hone::chat
