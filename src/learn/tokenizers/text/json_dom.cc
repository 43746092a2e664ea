#include "learn/tokenizers/text/json_dom.h"

#include <cerrno>
#include <cstdio>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

// simdjson does not say where a text is broken; the slower parser does.
std::string broken_at(std::string_view text) {
  Json value;
  const auto fault = parse_json(text, {.strict = true}, value);
  return fault ? fmt::format(":{}:{}", fault->place.line, fault->place.column) : "";
}

// Integers of 19 digits and more get an exponent, so that they are read as floating point:
// Transformers writes model_max_length 1000000000000000019884624838656.
std::string soften_huge_integers(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto is_digit = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (!in_string && is_digit(i)) {
      size_t end = i;
      while (is_digit(end)) ++end;
      out.append(text.substr(i, end - i));
      const bool whole = end == text.size() || (text[end] != '.' && (text[end] | 32) != 'e');
      if (end - i >= 19 && whole) out += "e0";
      i = end;
      while (i < text.size() && (text[i] == '.' || (text[i] | 32) == 'e' || text[i] == '+' ||
                                 text[i] == '-' || is_digit(i)))
        out += text[i++];
      continue;
    }
    if (c == '"') in_string = !in_string;
    out += c;
    if (in_string && c == '\\' && i + 1 < text.size()) out += text[++i];
    ++i;
  }
  return out;
}

}  // namespace

Result<JsonDocument> JsonDocument::parse(std::string_view text, const std::string& where) {
  JsonDocument document;
  if (text.data() == nullptr) text = "";  // simdjson copies from it
  auto error = document.parser_->parse(text.data(), text.size()).get(document.root_);
  if (error == simdjson::NUMBER_ERROR) {
    const std::string soft = soften_huge_integers(text);
    error = document.parser_->parse(soft.data(), soft.size()).get(document.root_);
  }
  if (error)
    return Error(err::kTokenizerFormat,
                 fmt::format("not a JSON document: {}", simdjson::error_message(error)))
        .at(where + broken_at(text))
        .todo("fetch the file again; it may be cut off, or a download page instead of the file");
  return document;
}

JsonAt JsonAt::item(JsonElement v, size_t index) const {
  return {v, fmt::format("{}[{}]", where, index)};
}

std::optional<JsonAt> JsonAt::find(std::string_view key) const {
  JsonElement member;
  if (value[key].get(member) || member.is_null()) return std::nullopt;
  return JsonAt{member, fmt::format("{}{}{}", where, where.ends_with(':') ? " " : ".", key)};
}

Result<JsonAt> JsonAt::get(std::string_view key) const {
  auto member = find(key);
  if (!member)
    return Error(err::kTokenizerFormat, fmt::format("the key \"{}\" is missing", key)).at(where);
  return *std::move(member);
}

Error JsonAt::expected(std::string_view what) const {
  std::string found = simdjson::minify(value);
  if (found.size() > 60) found = lossy_utf8(found.substr(0, 57)) + "...";
  return Error(err::kTokenizerFormat, fmt::format("expected {}, found {}", what, found)).at(where);
}

Result<std::string_view> JsonAt::string() const {
  std::string_view s;
  if (value.get(s)) return expected("a string");
  return s;
}
Result<int64_t> JsonAt::integer() const {
  int64_t i;
  if (value.get(i)) return expected("an integer");
  return i;
}
Result<bool> JsonAt::boolean() const {
  bool b;
  if (value.get(b)) return expected("true or false");
  return b;
}
Result<simdjson::dom::array> JsonAt::array() const {
  simdjson::dom::array a;
  if (value.get(a)) return expected("a list");
  return a;
}
Result<simdjson::dom::object> JsonAt::object() const {
  simdjson::dom::object o;
  if (value.get(o)) return expected("an object");
  return o;
}
Result<std::string_view> JsonAt::string(std::string_view key) const {
  return HONE_TRY(get(key)).string();
}
Result<bool> JsonAt::boolean_or(std::string_view key, bool fallback) const {
  const auto member = find(key);
  return member ? member->boolean() : Result<bool>(fallback);
}

std::string json_quote(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::string> read_text_file(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (text.ok()) return text;
  return Error(err::kTokenizerMissing, text.error().what())
      .todo("check the path and its permissions");
}

}  // namespace hone
