#include "learn/chat/value.h"

#include <algorithm>
#include <cmath>

#include "base/unicode/unicode.h"
#include "learn/chat/errors.h"
#include "learn/chat/python_text.h"

namespace hone::chat {
namespace {

constexpr size_t kIndexedKeys = 12;  // a dict of more has its texts in a table

const Value* find_pair(const std::vector<std::pair<Value, Value>>& pairs, const Value& key) {
  for (const auto& [k, v] : pairs)
    if (equal(k, key)) return &v;
  return nullptr;
}

}  // namespace

Error wrong(std::string_view what) { return Error(err::kChatRender, what); }

Value::Value(std::string text)
    : kind_(Kind::text),
      ascii_(std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; })),
      weight_(static_cast<int64_t>(text.size()) + 16),
      held_(std::make_shared<const std::string>(std::move(text))) {}

void Value::add_weight(const Value& part) {
  constexpr int64_t kMost = int64_t{1} << 60;
  weight_ = std::min(kMost, weight_ + part.weight_ + 16);
  level_ = static_cast<uint16_t>(std::max<int>(level_, std::min(part.level_ + 1, 60'000)));
}

Value Value::undefined(std::string why) {
  Value v;
  v.held_ = std::make_shared<const std::string>(std::move(why));
  return v;
}

Value Value::none() {
  Value v;
  v.kind_ = Kind::none;
  return v;
}

Value Value::sequence(Kind kind, Values items, std::string shown) {
  Value v;
  v.kind_ = kind;
  for (const Value& item : items) v.add_weight(item);
  auto held = std::make_shared<Sequence>();
  held->items = std::move(items);
  held->shown = std::move(shown);
  v.held_ = std::move(held);
  return v;
}

Value Value::dict(std::vector<std::pair<Value, Value>> pairs) {
  Value v;
  v.kind_ = Kind::dict;
  auto held = std::make_shared<Dict>();
  for (auto& [key, value] : pairs) {
    v.add_weight(key);
    v.add_weight(value);
    const bool many = held->pairs.size() > kIndexedKeys;
    if (many && held->texts.empty())
      for (size_t i = 0; i < held->pairs.size(); ++i)
        if (held->pairs[i].first.is(Kind::text)) held->texts[held->pairs[i].first.text()] = i;
    if (many && key.is(Kind::text)) {
      const auto [at, fresh] = held->texts.try_emplace(key.text(), held->pairs.size());
      if (!fresh) {
        held->pairs[at->second].second = std::move(value);
        continue;
      }
    } else if (const Value* old = find_pair(held->pairs, key)) {
      *const_cast<Value*>(old) = std::move(value);
      continue;
    }
    held->pairs.emplace_back(std::move(key), std::move(value));
  }
  v.held_ = std::move(held);
  return v;
}

Value Value::function(std::string_view name) {
  Value v;
  v.kind_ = Kind::function;
  v.held_ = std::make_shared<const Named>(Named{std::string(name), {}});
  return v;
}

Value Value::method(Value self, std::string_view name) {
  Value v;
  v.kind_ = Kind::method;
  v.add_weight(self);
  v.held_ = std::make_shared<const Named>(Named{std::string(name), {std::move(self)}});
  return v;
}

Value Value::object(Kind kind, void* object) {
  Value v;
  v.kind_ = kind;
  v.object_ = object;
  return v;
}

Value Value::loop(std::shared_ptr<const void> state) {
  Value v;
  v.kind_ = Kind::loop;
  v.held_ = std::move(state);
  return v;
}

Value Value::of(const OrderedJson& json) {
  switch (json.type()) {
    case OrderedJson::value_t::boolean:
      return json.get<bool>();
    case OrderedJson::value_t::number_unsigned:
      if (json.get<uint64_t>() > INT64_MAX) return json.get<double>();
      return json.get<int64_t>();
    case OrderedJson::value_t::number_integer:
      return json.get<int64_t>();
    case OrderedJson::value_t::number_float:
      return json.get<double>();
    case OrderedJson::value_t::string:
      return json.get_ref<const std::string&>();
    case OrderedJson::value_t::array: {
      Values items;
      items.reserve(json.size());
      for (const OrderedJson& item : json) items.push_back(of(item));
      return list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      std::vector<std::pair<Value, Value>> pairs;
      pairs.reserve(json.size());
      for (const auto& [key, item] : json.items()) pairs.emplace_back(key, of(item));
      return dict(std::move(pairs));
    }
    default:
      return none();
  }
}

const Value& Value::self() const { return static_cast<const Named*>(held_.get())->self[0]; }
const std::string& Value::name() const { return static_cast<const Named*>(held_.get())->name; }

Values Value::take_stream(size_t most) const {
  const Sequence& s = held_sequence();
  const size_t from = s.next;
  s.next += std::min(most, s.items.size() - from);
  return Values(s.items.begin() + static_cast<std::ptrdiff_t>(from),
                s.items.begin() + static_cast<std::ptrdiff_t>(s.next));
}

const std::vector<std::pair<Value, Value>>& Value::pairs() const {
  return static_cast<const Dict*>(held_.get())->pairs;
}

const Value* Value::find(const Value& key) const {
  const auto& d = *static_cast<const Dict*>(held_.get());
  if (d.texts.empty() || !key.is(Kind::text)) return find_pair(d.pairs, key);
  const auto at = d.texts.find(key.text());
  return at == d.texts.end() ? nullptr : &d.pairs[at->second].second;
}

bool truth(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return v.integer() != 0;
    case Kind::real:
      return v.real() != 0;
    case Kind::text:
      return !v.text().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view:
      return !v.items().empty();
    case Kind::dict:
      return !v.pairs().empty();
    default:
      return true;
  }
}

bool same_object(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.held_ || b.held_) return a.held_ == b.held_;
  return a.integer_ == b.integer_;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_whole() && b.is_whole()) return a.integer() == b.integer();
    return a.real() == b.real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::text:
      return a.text() == b.text();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
      return same_object(a, b) || std::equal(a.items().begin(), a.items().end(), b.items().begin(),
                                             b.items().end(), equal);
    case Kind::dict: {
      if (same_object(a, b)) return true;
      if (a.pairs().size() != b.pairs().size()) return false;
      for (const auto& [key, value] : a.pairs()) {
        const Value* other = b.find(key);
        if (!other || !equal(value, *other)) return false;
      }
      return true;
    }
    default:
      return same_object(a, b);
  }
}

Result<int> order(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_whole() && b.is_whole())
      return a.integer() < b.integer() ? -1 : static_cast<int>(a.integer() > b.integer());
    return a.real() < b.real() ? -1 : static_cast<int>(a.real() > b.real());
  }
  if (a.is(Kind::text) && b.is(Kind::text)) {
    const int c = a.text().compare(b.text());  // UTF-8 has the order of its characters
    return c < 0 ? -1 : static_cast<int>(c > 0);
  }
  if (a.kind() == b.kind() && (a.is(Kind::list) || a.is(Kind::tuple))) {
    const Values &x = a.items(), &y = b.items();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i])) return order(x[i], y[i]);
    return x.size() < y.size() ? -1 : static_cast<int>(x.size() > y.size());
  }
  for (const Value* v : {&a, &b})
    if (v->is(Kind::undefined)) return wrong(why_undefined(*v));
  return wrong(fmt::format("'{}' and '{}' cannot be ordered", type_name(a), type_name(b)));
}

bool hashable(const Value& v) {
  if (v.is(Kind::tuple)) return std::all_of(v.items().begin(), v.items().end(), hashable);
  return !v.is(Kind::list) && !v.is(Kind::dict) && !v.is(Kind::view);
}

const char* type_name(const Value& v) {
  constexpr const char* kNames[] = {
      "Undefined", "NoneType",  "bool", "int",       "float", "str",   "list",     "tuple", "range",
      "dict view", "generator", "dict", "Namespace", "loop",  "macro", "function", "method"};
  return kNames[static_cast<size_t>(v.kind())];
}

std::string why_undefined(const Value& v) {
  return v.has_text() ? v.text() : std::string("a value is undefined");
}

std::string str(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return "";
    case Kind::text:
      return v.text();
    default:
      return repr(v);
  }
}

std::string repr(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return v.integer() ? "True" : "False";
    case Kind::integer:
      return fmt::format("{}", v.integer());
    case Kind::real:
      if (std::isnan(v.real())) return "nan";
      if (std::isinf(v.real())) return v.real() > 0 ? "inf" : "-inf";
      return double_text(v.real());
    case Kind::text:
      return repr_text(v.text());
    case Kind::range:
      return v.held_sequence().shown;
    case Kind::stream:
      return "<generator object>";
    case Kind::list:
    case Kind::tuple:
    case Kind::view: {
      std::string out = v.is(Kind::tuple) ? "(" : "[";
      for (size_t i = 0; i < v.items().size(); ++i) out += (i > 0 ? ", " : "") + repr(v.items()[i]);
      if (v.is(Kind::tuple) && v.items().size() == 1) out += ",";
      out += v.is(Kind::tuple) ? ")" : "]";
      return v.is(Kind::view) ? v.held_sequence().shown + "(" + out + ")" : out;
    }
    case Kind::dict: {
      std::string out = "{";
      for (const auto& [key, value] : v.pairs())
        out += (out.size() > 1 ? ", " : "") + repr(key) + ": " + repr(value);
      return out + "}";
    }
    default:
      return fmt::format("<{}>", type_name(v));
  }
}

}  // namespace hone::chat
