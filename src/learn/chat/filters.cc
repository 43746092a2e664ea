// Filters of texts and numbers. Reference:
// https://jinja.palletsprojects.com/en/stable/templates/#builtin-filters
#include <algorithm>
#include <charconv>
#include <cmath>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

template <std::string (*F)(std::string_view)>
Result<Value> text_filter(Renderer&, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("the filter", a, {}));
  return Value(F(str(v)));
}

Result<Value> trim_filter(Renderer&, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("trim", a, {"chars"}));
  std::optional<std::string> chars;
  if (b[0] && !b[0]->is(Kind::none)) {
    if (!b[0]->is(Kind::text)) return wrong("trim takes a text");
    chars = b[0]->text();
  }
  const std::string text = str(v);
  return Value(std::string(strip_right(strip_left(text, chars), chars)));
}

Result<Value> replace_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("replace", a, {"old", "new", "count"}, 2));
  const std::string text = str(v), old = str(*b[0]), fresh = str(*b[1]);
  const int64_t most =
      b[2] && !b[2]->is(Kind::none) ? HONE_TRY(whole_argument(*b[2], "count")) : -1;
  int64_t found = 0;
  if (old.empty())
    found = static_cast<int64_t>(text.size()) + 1;
  else
    for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + old.size()))
      ++found;
  if (most >= 0) found = std::min(found, most);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(found, static_cast<int64_t>(fresh.size()), &bytes))
    bytes = INT64_MAX / 2;
  HONE_TRY(r.room_for(bytes + static_cast<int64_t>(text.size())));
  return Value(replace_text(text, old, fresh, most));
}

Result<Value> indent_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("indent", a, {"width", "first", "blank"}));
  if (v.is(Kind::undefined)) return wrong(why_undefined(v));
  if (!v.is(Kind::text)) return wrong(fmt::format("indent takes a text, not a {}", type_name(v)));
  std::string by(4, ' ');
  if (b[0] && b[0]->is(Kind::text)) {
    by = b[0]->text();
  } else if (b[0]) {
    const int64_t width = HONE_TRY(whole_argument(*b[0], "width"));
    HONE_TRY(r.room_for(width));
    by = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool blank = b[2] && truth(*b[2]);
  const std::string text = v.text() + "\n";
  const auto lines = split_lines(text, false);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(lines.size()),
                             static_cast<int64_t>(by.size()) + 1, &bytes))
    bytes = INT64_MAX / 2;
  HONE_TRY(r.room_for(bytes + static_cast<int64_t>(text.size())));
  std::string out = b[1] && truth(*b[1]) ? by : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return Value(std::move(out));
}

Result<Value> default_filter(Renderer&, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("default", a, {"default_value", "boolean"}));
  if (v.is(Kind::undefined) || (b[1] && truth(*b[1]) && !truth(v))) return b[0] ? *b[0] : Value("");
  return v;
}

Result<Value> tojson_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("tojson", a, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  constexpr size_t kLongest = 16;  // spaces of an indent, bytes of a separator
  DumpStyle style;
  style.ascii = b[0] && truth(*b[0]);
  style.sort_keys = b[3] && truth(*b[3]);
  if (b[1] && b[1]->is(Kind::text)) {
    style.indent = b[1]->text();
  } else if (b[1] && !b[1]->is(Kind::none)) {
    const int64_t spaces = HONE_TRY(whole_argument(*b[1], "indent"));
    style.indent =
        std::string(static_cast<size_t>(std::clamp<int64_t>(spaces, 0, kLongest + 1)), ' ');
  }
  if (style.indent) style.comma = ",";
  if (b[2] && !b[2]->is(Kind::none)) {
    const Values two = HONE_TRY(r.items_of(*b[2]));
    if (two.size() != 2 || !two[0].is(Kind::text) || !two[1].is(Kind::text))
      return wrong("separators are two texts");
    style.comma = two[0].text();
    style.colon = two[1].text();
  }
  if (std::max({style.comma.size(), style.colon.size(), style.indent.value_or("").size()}) >
      kLongest)
    return wrong("tojson takes an indent and separators of at most 16 characters");
  HONE_TRY(r.room_for(v.weight()));
  std::string out;
  HONE_TRY(dump(v, style, out));
  return Value(std::move(out));
}

Result<Value> int_filter(Renderer&, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("int", a, {"default", "base"}));
  if (v.is(Kind::undefined)) return wrong(why_undefined(v));
  const Value fallback = b[0] ? *b[0] : Value(int64_t{0});
  const int64_t base = b[1] ? HONE_TRY(whole_argument(*b[1], "base")) : 10;
  if (base != 0 && (base < 2 || base > 36)) return wrong("int takes a base of 2 to 36");
  if (v.is_whole()) return Value(v.integer());
  std::optional<double> real;
  if (v.is(Kind::text)) {
    if (const auto n = whole_of(v.text(), static_cast<int>(base))) return Value(*n);
    real = real_of(v.text());
  } else if (v.is(Kind::real)) {
    real = v.real();
  }
  if (!real || !std::isfinite(*real)) return fallback;
  if (std::abs(*real) > 9e18) return wrong("a number is beyond 64 bits");
  return Value(static_cast<int64_t>(*real));
}

Result<Value> float_filter(Renderer&, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("float", a, {"default"}));
  if (v.is(Kind::undefined)) return wrong(why_undefined(v));
  if (v.is_number()) return Value(v.real());
  if (v.is(Kind::text))
    if (const auto n = real_of(v.text())) return Value(*n);
  return b[0] ? *b[0] : Value(0.0);
}

Result<Value> abs_filter(Renderer&, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("abs", a, {}));
  if (!v.is_number()) return wrong(fmt::format("abs takes a number, not a {}", type_name(v)));
  if (v.is(Kind::real)) return Value(std::abs(v.real()));
  if (v.integer() == INT64_MIN) return wrong("a number is beyond 64 bits");
  return Value(std::abs(v.integer()));
}

Result<Value> round_filter(Renderer&, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("round", a, {"precision", "method"}));
  if (!v.is_number()) return wrong(fmt::format("round takes a number, not a {}", type_name(v)));
  const int64_t digits = b[0] ? HONE_TRY(whole_argument(*b[0], "precision")) : 0;
  const std::string method = b[1] ? str(*b[1]) : "common";
  if (digits < 0 || digits > 300) return wrong("round takes a precision of 0 to 300");
  if (method == "common") {
    if (v.is_whole()) return Value(v.integer());
    return Value(*real_of(fmt::format("{:.{}f}", v.real(), digits)));
  }
  if (method != "ceil" && method != "floor") return wrong("round takes common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled =
      method == "ceil" ? std::ceil(v.real() * scale) : std::floor(v.real() * scale);
  return Value(scaled / scale);
}

Result<Value> string_filter(Renderer&, const Value& v, const CallArguments& a) {
  HONE_TRY(bind("string", a, {}));
  return Value(str(v));
}

Result<Value> format_filter(Renderer& r, const Value& v, const CallArguments& a) {
  if (!a.plain.empty() && !a.named.empty()) return wrong("format takes values or names, not both");
  std::vector<std::pair<Value, Value>> named;
  for (const auto& [key, value] : a.named) named.emplace_back(key, value);
  const Value values = named.empty() ? Value::tuple(a.plain) : Value::dict(std::move(named));
  return Value(HONE_TRY(format_percent(r, str(v), values)));
}

Result<Value> center_filter(Renderer& r, const Value& v, const CallArguments& a) {
  const auto b = HONE_TRY(bind("center", a, {"width"}));
  return call_method(r, Value(str(v)), "center", {{b[0] ? *b[0] : Value(int64_t{80})}, {}});
}

struct FilterName {
  std::string_view name;
  FilterFunction function;
};
constexpr FilterName kTextFilters[] = {
    {"abs", abs_filter},          {"capitalize", text_filter<capitalize>},
    {"center", center_filter},    {"d", default_filter},
    {"default", default_filter},  {"float", float_filter},
    {"format", format_filter},    {"indent", indent_filter},
    {"int", int_filter},          {"lower", text_filter<lower>},
    {"replace", replace_filter},  {"round", round_filter},
    {"safe", string_filter},  // nothing is escaped
    {"string", string_filter},    {"title", text_filter<filter_title>},
    {"tojson", tojson_filter},    {"trim", trim_filter},
    {"upper", text_filter<upper>}};
constexpr const char* kListFilterNames[] = {
    "attr",    "count",  "dictsort",   "first", "items", "join",   "last",
    "length",  "list",   "map",        "max",   "min",   "reject", "rejectattr",
    "reverse", "select", "selectattr", "sort",  "sum",   "unique"};

}  // namespace

FilterFunction find_filter(std::string_view name) {
  for (const FilterName& f : kTextFilters)
    if (f.name == name) return f.function;
  return find_list_filter(name);
}

std::vector<std::string> filter_names() {
  std::vector<std::string> names(std::begin(kListFilterNames), std::end(kListFilterNames));
  for (const FilterName& f : kTextFilters) names.emplace_back(f.name);
  return names;
}

Result<std::vector<std::optional<Value>>> bind(std::string_view function, const CallArguments& a,
                                               const std::vector<const char*>& names,
                                               size_t needed) {
  std::vector<std::optional<Value>> out(names.size());
  if (a.plain.size() > names.size())
    return wrong(fmt::format("{} takes at most {} arguments", function, names.size()));
  for (size_t i = 0; i < a.plain.size(); ++i) out[i] = a.plain[i];
  for (const auto& [name, value] : a.named) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return wrong(fmt::format("{} has no argument '{}'", function, name));
    out[static_cast<size_t>(at - names.begin())] = value;
  }
  for (size_t i = 0; i < needed; ++i)
    if (!out[i]) return wrong(fmt::format("{} needs '{}'", function, names[i]));
  return out;
}

std::optional<int64_t> whole_of(std::string_view text, int base) {
  text = strip_right(strip_left(text));
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int own = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (own != 0 && (base == own || base == 0)) {
      base = own;
      text.remove_prefix(2);
    }
  }
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_') continue;
    digits += text[i];
  }
  if (negative) digits.insert(0, "-");
  int64_t n = 0;
  const auto read =
      std::from_chars(digits.data(), digits.data() + digits.size(), n, base == 0 ? 10 : base);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || text.empty() ||
      text[0] == '-')
    return {};
  return n;
}

std::optional<double> real_of(std::string_view text) {
  text = strip_right(strip_left(text));
  std::string kept = lower(text);
  const std::string_view bare =
      std::string_view(kept).substr(kept.starts_with('+') || kept.starts_with('-') ? 1 : 0);
  if (bare.empty() || bare.starts_with('-') || bare.starts_with('+')) return {};
  const bool negative = kept[0] == '-';
  double n = 0;
  const auto read = std::from_chars(bare.data(), bare.data() + bare.size(), n);
  if (read.ptr != bare.data() + bare.size() || bare.starts_with("nan(")) return {};
  if (read.ec == std::errc::result_out_of_range)
    n = bare.find("e-") != std::string_view::npos ? 0 : HUGE_VAL;
  return negative ? -n : n;
}

Result<int64_t> whole_argument(const Value& v, std::string_view name) {
  if (v.is(Kind::undefined)) return wrong(why_undefined(v));
  if (!v.is_whole())
    return wrong(fmt::format("{} takes a whole number, not a {}", name, type_name(v)));
  return v.integer();
}

}  // namespace hone::chat
