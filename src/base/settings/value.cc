#include "base/settings/value.h"

#include <charconv>
#include <cmath>

#include "base/core/text.h"

namespace hone {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {
  using Inner = T;
};

// Underscores between digits are dropped (1_000); anything else odd is left to fail later.
std::string plain_digits(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool between = text[i] == '_' && i > 0 && i + 1 < text.size() && std::isdigit(text[i - 1]) &&
                   std::isdigit(text[i + 1]);
    if (!between && !(i == 0 && text[i] == '+')) out += text[i];
  }
  return out;
}

bool read(std::string_view text, double& out) {
  std::string digits = plain_digits(trim(text));
  const char* end = digits.data() + digits.size();
  double v = 0;
  auto [at, error] = std::from_chars(digits.data(), end, v);
  if (error != std::errc() || at != end || std::isnan(v)) return false;
  out = v;
  return true;
}

bool read(std::string_view text, int64_t& out) {
  std::string digits = plain_digits(trim(text));
  const char* end = digits.data() + digits.size();
  int64_t v = 0;
  auto [at, error] = std::from_chars(digits.data(), end, v);
  if (error == std::errc() && at == end) return out = v, true;
  double d = 0;
  if (!read(text, d) || d != std::floor(d) || std::fabs(d) > 9e15) return false;
  return out = static_cast<int64_t>(d), true;  // 1e3, 3.0
}

bool read(std::string_view text, bool& out) {
  std::optional<bool> b = bool_of(text);
  if (b) out = *b;
  return b.has_value();
}

bool read(std::string_view text, std::string& out) { return out = text, true; }

bool read(std::string_view text, ByteSize& out) {
  std::string t = to_lower(trim(text));
  size_t unit_at = t.find_first_not_of("0123456789._e+-");
  // An 'e' can only be the exponent's: no unit begins with it except EiB, which nobody has.
  std::string unit(trim(unit_at == std::string::npos ? "" : std::string_view(t).substr(unit_at)));
  double number = 0;
  if (!read(std::string_view(t).substr(0, unit_at), number) || number < 0) return false;
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  constexpr std::string_view kLetters = "kmgtp";
  for (size_t i = 0; i < kLetters.size(); ++i) {
    std::string letter(1, kLetters[i]);
    if (unit == letter || unit == letter + "ib" || unit == letter + "i")
      scale = std::pow(1024, i + 1);
    if (unit == letter + "b") scale = std::pow(1000, i + 1);
  }
  if (scale == 0 || number * scale > 9e18) return false;
  return out.bytes = static_cast<int64_t>(number * scale), true;
}

template <class T>
bool store(T& target, const Json& value) {
  if constexpr (IsOptional<T>::value) {
    if (value.is_null() || (value.is_string() && (value == "None" || value == "null"))) {
      target.reset();
      return true;
    }
    typename IsOptional<T>::Inner inner{};
    if (!store(inner, value)) return false;
    target = std::move(inner);
    return true;
  } else if constexpr (std::is_same_v<T, Json>) {
    if (!value.is_string()) return target = value, true;
    Result<Json> parsed = parse_json(value.get_ref<const std::string&>(), "value");
    if (!parsed.ok()) return false;
    return target = std::move(*parsed), true;
  } else if constexpr (std::is_same_v<T, JsonOrFile>) {
    if (value.is_object()) return target.value = value, true;
    if (value.is_null()) return target = {}, true;
    if (!value.is_string()) return false;
    if (!trim(value.get_ref<const std::string&>()).starts_with('{'))
      return target.value = value, true;
    return store(target.value, value) && target.value.is_object();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    std::vector<std::string> list;
    if (value.is_array()) {
      for (const Json& element : value) {
        std::string text;
        if (!store(text, element)) return false;
        list.push_back(std::move(text));
      }
    } else if (!value.is_null()) {
      std::string text;
      if (!store(text, value)) return false;
      // Blanks around commas go; a single text keeps its own, such as prefix='summarize: '.
      const bool one = text.find(',') == std::string::npos;
      for (const std::string& part : split(text, ','))
        if (!trim(part).empty()) list.emplace_back(one ? std::string_view(part) : trim(part));
    }
    return target = std::move(list), true;
  } else {
    if (value.is_object() || value.is_array() || value.is_null()) return false;
    if (value.is_string()) return read(value.get_ref<const std::string&>(), target);
    return read(dump_json(value), target);
  }
}

OrderedJson to_json(const ByteSize& size) {
  for (int shift : {40, 30, 20, 10}) {
    int64_t unit = int64_t{1} << shift;
    if (size.bytes >= unit && size.bytes % unit == 0) {
      return fmt::format("{}{}iB", size.bytes / unit, "KMGT"[shift / 10 - 1]);
    }
  }
  return size.bytes;
}
OrderedJson to_json(const Json& value) {
  // nlohmann has no conversion between the two orders.
  return *parse_ordered_json(dump_json(value), "value");
}
OrderedJson to_json(const JsonOrFile& value) { return to_json(value.value); }
template <class T>
OrderedJson to_json(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? to_json(*value) : OrderedJson(nullptr);
  } else {
    return value;
  }
}

// The index of Field's alternative without its optional.
size_t base_index(const Field& f) {
  constexpr size_t kOf[] = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 7};
  return kOf[f.index()];
}
}  // namespace

std::optional<bool> bool_of(std::string_view text) {
  std::string t = to_lower(trim(text));
  for (const char* yes : {"true", "yes", "y", "t", "on", "1"})
    if (t == yes) return true;
  for (const char* no : {"false", "no", "n", "f", "off", "0"})
    if (t == no) return false;
  return std::nullopt;
}

bool is_bool(const Field& f) { return base_index(f) == 0; }
bool is_list(const Field& f) { return base_index(f) == 5; }
bool is_text(const Field& f) { return base_index(f) == 3 || is_list(f) || base_index(f) == 7; }

const char* expected(const Field& f) {
  constexpr const char* kText[] = {"true or false",
                                   "an integer such as 8 or 1_000",
                                   "a number such as 0.1 or 5e-5",
                                   "text",
                                   "a size such as 16GiB or 500MB",
                                   "a list such as a,b",
                                   "JSON such as {\"a\": 1}",
                                   "a JSON file, or an object such as {\"a\": 1}"};
  return kText[base_index(f)];
}

const char* metavariable(const Field& f) {
  constexpr const char* kText[] = {"", "INTEGER", "NUMBER", "TEXT", "SIZE", "LIST", "JSON", "FILE"};
  return kText[base_index(f)];
}

bool assign(const Field& field, const Json& value) {
  return std::visit([&](auto* target) { return store(*target, value); }, field);
}

OrderedJson value_of(const Field& field) {
  return std::visit([](auto* target) { return to_json(*target); }, field);
}

std::string value_text(const OrderedJson& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string out;
    for (const OrderedJson& e : value) out += (out.empty() ? "" : ",") + value_text(e);
    return out;
  }
  std::string text = dump_json(value);
  if (value.is_number_float() && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace hone
