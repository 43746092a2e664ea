// Python's methods of texts, dicts and lists, and the functions of the environment.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

// Also those that call_method refuses: a template may ask whether they are there.
constexpr std::string_view kTextMethods[] = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};
constexpr std::string_view kDictMethods[] = {"keys", "values", "items", "get", "copy", "fromkeys"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListMethods[] = {"count", "index", "copy"};
constexpr std::string_view kListChanges[] = {"append", "clear",  "extend",  "insert",
                                             "pop",    "remove", "reverse", "sort"};
constexpr std::string_view kFunctions[] = {"range",        "dict",   "namespace", "raise_exception",
                                           "strftime_now", "joiner", "cycler",    "lipsum"};

template <class List>
bool listed(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

Values texts_of(const std::vector<std::string_view>& parts) {
  Values out;
  for (const std::string_view part : parts) out.push_back(Value(part));
  return out;
}

Result<std::string> text_argument(const std::optional<Value>& v, std::string_view method) {
  if (!v || !v->is(Kind::text)) return wrong(fmt::format("{} takes a text", method));
  return v->text();
}

// The widest text is far smaller.
Result<int64_t> width_argument(const Value& v) {
  constexpr int64_t kFar = int64_t{1} << 40;
  return std::clamp(HONE_TRY(whole_argument(v, "width")), -kFar, kFar);
}

// The characters to strip; absent: whitespace.
Result<std::optional<std::string>> chars_argument(const CallArguments& a, const std::string& name) {
  const auto b = HONE_TRY(bind(name, a, {"chars"}));
  if (!b[0] || b[0]->is(Kind::none)) return std::optional<std::string>();
  return std::optional<std::string>(HONE_TRY(text_argument(b[0], name)));
}

Result<bool> begins_or_ends(std::string_view text, const CallArguments& a,
                            const std::string& name) {
  const auto b = HONE_TRY(bind(name, a, {"text"}, 1));
  const Values any = b[0]->is(Kind::tuple) ? b[0]->items() : Values{*b[0]};
  for (const Value& v : any) {
    const std::string part = HONE_TRY(text_argument(v, name));
    if (name == "startswith" ? text.starts_with(part) : text.ends_with(part)) return true;
  }
  return false;
}

Result<Value> split_call(Renderer& r, const Value& self, const std::string& name,
                         const CallArguments& a) {
  const auto b = HONE_TRY(bind(name, a, {"sep", "maxsplit"}));
  std::optional<std::string> separator;
  if (b[0] && !b[0]->is(Kind::none)) {
    separator = HONE_TRY(text_argument(b[0], name));
    if (separator->empty()) return wrong("a text is split at an empty text");
  }
  const int64_t most = b[1] ? HONE_TRY(whole_argument(*b[1], "maxsplit")) : -1;
  const auto parts = split_text(self.text(), separator, most, name == "rsplit");
  HONE_TRY(r.spend(0, static_cast<int64_t>(self.text().size() + parts.size() * 60)));
  return Value::list(texts_of(parts));
}

Result<Value> find_call(const Value& self, const std::string& name, const CallArguments& a) {
  const auto b = HONE_TRY(bind(name, a, {"text", "start", "end"}, 1));
  const std::string part = HONE_TRY(text_argument(b[0], name));
  const std::string& text = self.text();
  std::optional<int64_t> from, to;
  if (b[1] && !b[1]->is(Kind::none)) from = HONE_TRY(whole_argument(*b[1], "start"));
  if (b[2] && !b[2]->is(Kind::none)) to = HONE_TRY(whole_argument(*b[2], "end"));
  const int64_t length = length_of(text);
  const Bounds bounds = bounds_of(from, to, 1, length);
  const size_t begin = byte_of(text, bounds.from);
  const std::string_view in = std::string_view(text).substr(
      begin, bounds.to > bounds.from
                 ? byte_of(std::string_view(text).substr(begin), bounds.to - bounds.from)
                 : 0);
  if (name == "count") {
    if (part.empty()) return Value(length_of(in) + 1);
    int64_t n = 0;
    for (size_t at = in.find(part); at != std::string_view::npos;
         at = in.find(part, at + part.size()))
      ++n;
    return Value(n);
  }
  const size_t at = name[0] == 'r' ? in.rfind(part) : in.find(part);
  if (at != std::string_view::npos) return Value(bounds.from + length_of(in.substr(0, at)));
  if (name == "index" || name == "rindex")
    return wrong(fmt::format("a text does not have '{}'", part));
  return Value(int64_t{-1});
}

Result<Value> pad_call(Renderer& r, const Value& self, const std::string& name,
                       const CallArguments& a) {
  const auto b = HONE_TRY(bind(name, a, {"width", "fillchar"}, 1));
  const int64_t width = HONE_TRY(width_argument(*b[0]));
  const std::string fill = b[1] ? HONE_TRY(text_argument(b[1], name)) : " ";
  const int64_t lacks = width - length_of(self.text());
  if (length_of(fill) != 1) return wrong("a text is filled with one character");
  if (lacks <= 0) return self;
  HONE_TRY(r.room_for(lacks * 4));
  // As CPython: the odd one is on the left of an odd width.
  const int64_t before = name == "ljust"   ? 0
                         : name == "rjust" ? lacks
                                           : lacks / 2 + (lacks & width & 1);
  std::string out;
  for (int64_t i = 0; i < before; ++i) out += fill;
  out += self.text();
  for (int64_t i = before; i < lacks; ++i) out += fill;
  return Value(std::move(out));
}

Result<Value> partition_call(const Value& self, const std::string& name, const CallArguments& a) {
  const auto b = HONE_TRY(bind(name, a, {"sep"}, 1));
  const std::string at = HONE_TRY(text_argument(b[0], name));
  const std::string_view text = self.text();
  const bool right = name == "rpartition";
  const size_t found = at.empty() ? std::string_view::npos : right ? text.rfind(at) : text.find(at);
  std::vector<std::string_view> parts;
  if (found != std::string_view::npos)
    parts = {text.substr(0, found), at, text.substr(found + at.size())};
  else if (right)
    parts = {"", "", text};
  else
    parts = {text, "", ""};
  return Value::tuple(texts_of(parts));
}

Result<Value> replace_call(Renderer& r, const Value& self, const CallArguments& a) {
  const auto b = HONE_TRY(bind("replace", a, {"old", "new", "count"}, 2));
  HONE_TRY(text_argument(b[0], "replace"));
  HONE_TRY(text_argument(b[1], "replace"));
  CallArguments checked{{*b[0], *b[1]}, {}};
  if (b[2]) checked.plain.push_back(*b[2]);
  const Value v = HONE_TRY(find_filter("replace")(r, self, checked));
  return v;
}

std::optional<bool> class_test(const std::string& text, const std::string& name) {
  if (name == "isalpha") return all_of_class(text, kLetter);
  if (name == "isdigit" || name == "isdecimal" || name == "isnumeric")
    return all_of_class(text, kNumber);
  if (name == "isalnum") return all_of_class(text, kLetter | kNumber);
  if (name == "isspace") return all_of_class(text, kSpace);
  if (name == "isupper") return is_upper(text);
  if (name == "islower") return is_lower(text);
  if (name == "isascii")
    return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  return {};
}

Result<Value> call_text(Renderer& r, const Value& self, const std::string& name,
                        const CallArguments& a) {
  const std::string& text = self.text();
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const auto chars = HONE_TRY(chars_argument(a, name));
    std::string_view left = text;
    if (name != "rstrip") left = strip_left(left, chars);
    if (name != "lstrip") left = strip_right(left, chars);
    return Value(std::string(left));
  }
  if (name == "split" || name == "rsplit") return split_call(r, self, name, a);
  if (name == "startswith" || name == "endswith")
    return Value(HONE_TRY(begins_or_ends(text, a, name)));
  if (name == "replace") return replace_call(r, self, a);
  if (name == "format") return Value(HONE_TRY(format_braces(r, text, a)));
  if (name == "find" || name == "rfind" || name == "index" || name == "rindex" || name == "count")
    return find_call(self, name, a);
  if (name == "ljust" || name == "rjust" || name == "center") return pad_call(r, self, name, a);
  if (name == "partition" || name == "rpartition") return partition_call(self, name, a);
  if (name == "join") {
    const auto b = HONE_TRY(bind(name, a, {"iterable"}, 1));
    const Values items = HONE_TRY(r.items_of(*b[0]));
    for (const Value& v : items)
      if (!v.is(Kind::text)) return wrong(fmt::format("join takes texts, not a {}", type_name(v)));
    return find_filter("join")(r, Value::list(items), {{self}, {}});
  }
  if (name == "removeprefix" || name == "removesuffix") {
    const auto b = HONE_TRY(bind(name, a, {"text"}, 1));
    const std::string part = HONE_TRY(text_argument(b[0], name));
    if (name == "removeprefix" && text.starts_with(part)) return Value(text.substr(part.size()));
    if (name == "removesuffix" && text.ends_with(part))
      return Value(text.substr(0, text.size() - part.size()));
    return self;
  }
  if (name == "splitlines") {
    const auto b = HONE_TRY(bind(name, a, {"keepends"}));
    const auto lines = split_lines(text, b[0] && truth(*b[0]));
    HONE_TRY(r.spend(0, static_cast<int64_t>(text.size() + lines.size() * 60)));
    return Value::list(texts_of(lines));
  }
  if (name == "zfill") {
    const auto b = HONE_TRY(bind(name, a, {"width"}, 1));
    const int64_t lacks = HONE_TRY(width_argument(*b[0])) - length_of(text);
    HONE_TRY(r.room_for(lacks));
    const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    std::string made = text;
    if (lacks > 0) made.insert(sign, std::string(static_cast<size_t>(lacks), '0'));
    return Value(std::move(made));
  }
  HONE_TRY(bind(name, a, {}));
  if (name == "upper") return Value(upper(text));
  if (name == "lower" || name == "casefold") return Value(lower(text));
  if (name == "title") return Value(title(text));
  if (name == "capitalize") return Value(capitalize(text));
  if (const auto holds = class_test(text, name)) return Value(*holds);
  return wrong(fmt::format("the method '{}' of texts is not supported", name));
}

Result<Value> call_dict(const Value& self, const std::string& name, const CallArguments& a) {
  if (name == "get") {
    const auto b = HONE_TRY(bind(name, a, {"key", "default"}, 1));
    if (!hashable(*b[0])) return wrong(fmt::format("a {} cannot be a key", type_name(*b[0])));
    if (const Value* v = self.find(*b[0])) return *v;
    return b[1] ? *b[1] : Value::none();
  }
  HONE_TRY(bind(name, a, {}));
  if (name == "copy") return self;
  Values items;
  for (const auto& [key, value] : self.pairs())
    items.push_back(name == "keys" ? key : name == "values" ? value : Value::tuple({key, value}));
  if (name == "keys" || name == "values" || name == "items")
    return Value::sequence(Kind::view, std::move(items), "dict_" + name);
  return wrong(fmt::format("the method '{}' of dicts is not supported", name));
}

Result<Value> range_call(const CallArguments& a) {
  const auto b = HONE_TRY(bind("range", a, {"start", "stop", "step"}, 1));
  int64_t at[3] = {0, 0, 1};
  for (size_t i = 0; i < 3; ++i)
    if (b[i]) at[i] = HONE_TRY(whole_argument(*b[i], "range"));
  if (!b[1]) std::swap(at[0], at[1]);
  if (at[2] == 0) return wrong("the step of range is 0");
  constexpr int64_t kMostRange = 100'000;  // as Jinja's sandbox
  constexpr int64_t kFar = int64_t{1} << 40;
  for (int64_t& v : at) v = std::clamp(v, -kFar, kFar);
  const Bounds bounds{at[0], at[1], at[2]};
  if (bounds.count() > kMostRange) return wrong("range has more than 100000 numbers");
  Values items;
  for (int64_t n = 0; n < bounds.count(); ++n) items.push_back(Value(at[0] + n * at[2]));
  const std::string shown = at[2] == 1 ? fmt::format("range({}, {})", at[0], at[1])
                                       : fmt::format("range({}, {}, {})", at[0], at[1], at[2]);
  return Value::sequence(Kind::range, std::move(items), shown);
}

Result<Value> time_call(const Clock& clock, const CallArguments& a) {
  const auto b = HONE_TRY(bind("strftime_now", a, {"format"}, 1));
  const std::string form = HONE_TRY(text_argument(b[0], "strftime_now"));
  const double now = clock.wall_seconds();
  const auto seconds = static_cast<std::time_t>(std::floor(now));
  std::tm local{};
  if (form.size() > 256 || !localtime_r(&seconds, &local))
    return wrong("strftime_now cannot write the time");
  if (form.empty()) return Value("");
  // Python's own: %f, microseconds.
  const std::string micros =
      fmt::format("{:06d}", static_cast<int64_t>((now - std::floor(now)) * 1e6));
  char text[4096];
  const size_t size =
      std::strftime(text, sizeof(text), replace_text(form, "%f", micros, -1).c_str(), &local);
  if (size == 0) return wrong("strftime_now cannot write the time");
  return Value(lossy_utf8(std::string_view(text, size)));
}

}  // namespace

MethodKind method_of(const Value& v, std::string_view name) {
  if (v.is(Kind::text)) return listed(kTextMethods, name) ? MethodKind::method : MethodKind::none;
  if (v.is(Kind::dict))
    return listed(kDictMethods, name)   ? MethodKind::method
           : listed(kDictChanges, name) ? MethodKind::forbidden
                                        : MethodKind::none;
  if (v.is(Kind::list))
    return listed(kListMethods, name)   ? MethodKind::method
           : listed(kListChanges, name) ? MethodKind::forbidden
                                        : MethodKind::none;
  if (v.is(Kind::tuple) || v.is(Kind::range))
    return name == "count" || name == "index" ? MethodKind::method : MethodKind::none;
  if (v.is(Kind::loop)) return name == "cycle" ? MethodKind::method : MethodKind::none;
  return MethodKind::none;
}

Result<Value> call_method(Renderer& r, const Value& self, const std::string& name,
                          const CallArguments& a) {
  if (self.is(Kind::text)) return call_text(r, self, name, a);
  if (self.is(Kind::dict)) {
    HONE_TRY(r.spend(0, name == "get" ? 0 : static_cast<int64_t>(self.pairs().size()) * 100));
    return call_dict(self, name, a);
  }
  if (self.is(Kind::loop)) {
    if (a.plain.empty()) return wrong("cycle takes values");
    const Value index = HONE_TRY(r.attribute(self, "index0"));
    return a.plain[static_cast<size_t>(index.integer()) % a.plain.size()];
  }
  if (name == "copy") return self;
  const auto b = HONE_TRY(bind(name, a, {"value"}, 1));
  HONE_TRY(r.spend(0, self.weight() / 16));
  int64_t count = 0;
  for (size_t i = 0; i < self.items().size(); ++i) {
    if (!equal(self.items()[i], *b[0])) continue;
    if (name == "index") return Value(static_cast<int64_t>(i));
    ++count;
  }
  if (name == "index") return wrong("the list does not have this value");
  return Value(count);
}

bool is_function(std::string_view name) { return listed(kFunctions, name); }

Result<Value> call_function(Renderer& r, const std::string& name, const CallArguments& a) {
  if (name == "range") return range_call(a);
  if (name == "namespace") return r.make_namespace(a);
  if (name == "strftime_now") return time_call(r.clock(), a);
  if (name == "raise_exception") {
    const auto b = HONE_TRY(bind(name, a, {"message"}, 1));
    return wrong("the chat template refuses the messages: " +
                 std::string(utf8_prefix(str(*b[0]), 1000)));
  }
  if (name == "dict") {
    std::vector<std::pair<Value, Value>> pairs;
    if (a.plain.size() > 1) return wrong("dict takes one value and names with values");
    if (a.plain.size() == 1 && a.plain[0].is(Kind::dict)) {
      pairs = a.plain[0].pairs();
    } else if (a.plain.size() == 1) {
      const Values items = HONE_TRY(r.items_of(a.plain[0]));
      HONE_TRY(r.spend(static_cast<int64_t>(items.size() * items.size()) / 16, 0));
      for (const Value& v : items) {
        const Values pair = HONE_TRY(r.items_of(v));
        if (pair.size() != 2 || !hashable(pair[0]))
          return wrong("dict takes pairs of a key and a value");
        pairs.emplace_back(pair[0], pair[1]);
      }
    }
    for (const auto& [key, value] : a.named) pairs.emplace_back(key, value);
    return Value::dict(std::move(pairs));
  }
  return wrong(fmt::format("the function '{}' is not supported", name));
}

}  // namespace hone::chat
