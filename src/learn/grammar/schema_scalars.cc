// Strings and numbers of a schema.
#include <cmath>

#include "learn/grammar/number_ranges.h"
#include "learn/grammar/pattern.h"
#include "learn/grammar/schema_compiler.h"

namespace hone {
namespace {

// Days are those that each month has in every year.
constexpr const char* kDate =
    "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))";
constexpr const char* kTime =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";

// Texts that JSON Schema's formats allow; not all of them.
Result<std::string> pattern_of_format(const SchemaPart& part) {
  const std::string format = text_at(*part.schema, "format");
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string label = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?";
  const std::string domain = label + "(\\." + label + "){1,4}";
  if (format == "date") return fmt::format("^{}$", kDate);
  if (format == "time") return fmt::format("^{}$", kTime);
  if (format == "date-time") return fmt::format("^{}T{}$", kDate, kTime);
  if (format == "uuid") return "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
  if (format == "ipv4") return fmt::format("^({0}\\.){{3}}{0}$", byte);
  if (format == "hostname") return fmt::format("^{}$", domain);
  if (format == "email")
    return fmt::format("^[A-Za-z0-9_+-]{{1,32}}(\\.[A-Za-z0-9_+-]{{1,16}}){{0,2}}@{}$", domain);
  return schema_refused(part, fmt::format("the format '{}' is not supported", format));
}

struct Bounds {
  std::optional<NumberBound> least, most;
};

// The narrower of two bounds: `sign` 1 of lower ones, -1 of upper ones.
void tighten(std::optional<NumberBound>& to, NumberBound with, int sign) {
  if (!to || (with.value - to->value) * sign > 0 || (with.value == to->value && with.open))
    to = with;
}

Result<Bounds> bounds_of(const SchemaPart& part, bool whole) {
  constexpr double kFar = 1e15;
  Bounds bounds;
  for (const auto& [key, sign, open] : {std::tuple{"minimum", 1, false},
                                        {"exclusiveMinimum", 1, true},
                                        {"maximum", -1, false},
                                        {"exclusiveMaximum", -1, true}}) {
    if (!part.has(key)) continue;
    if (!part.at(key).is_number()) return bad_schema(part, fmt::format("{} is not a number", key));
    const double x = part.at(key).get<double>();
    if (!std::isfinite(x)) return bad_schema(part, fmt::format("{} is not finite", key));
    const double inner = sign > 0 ? std::ceil(x) : std::floor(x);
    if (inner != x && !whole)
      return schema_refused(part, fmt::format("a {} of a number that is not whole", key));
    if (inner * sign > kFar) return bad_schema(part, fmt::format("{} is more than 1e15", key));
    if (inner * sign < -kFar) continue;  // no number of 15 digits is beyond it
    const NumberBound bound{static_cast<int64_t>(inner), open && inner == x};
    tighten(sign > 0 ? bounds.least : bounds.most, bound, sign);
  }
  return bounds;
}

}  // namespace

Status SchemaCompiler::add_string(Way way, const SchemaPart& part) {
  Automaton& a = *automaton_;
  const bool bounded = part.has("minLength") || part.has("maxLength");
  if (bounded + part.has("pattern") + part.has("format") > 1)
    return schema_refused(part, "pattern, format and bounds of a length exclude each other here");
  if (bounded)
    return add_length(way, HONE_TRY(schema_count(part, "minLength", 0)),
                      HONE_TRY(schema_count(part, "maxLength", -1)));
  if (!part.has("pattern") && !part.has("format")) {
    a.call(way.from, rules_.any_string(), way.to);
    return Ok{};
  }
  if (part.has("pattern") && !part.at("pattern").is_string())
    return bad_schema(part, "pattern is not a text");
  const std::string pattern =
      part.has("pattern") ? text_at(*part.schema, "pattern") : HONE_TRY(pattern_of_format(part));
  Result<int32_t> end = add_pattern(a, rules_, a.text(way.from, "\""), pattern);
  if (!end.ok()) return std::move(end.error()).at(part.place);
  a.byte(*end, '"', '"', way.to);
  return Ok{};
}

// A string of `least` to `most` characters; -1: any number.
Status SchemaCompiler::add_length(Way way, int64_t least, int64_t most) {
  Automaton& a = *automaton_;
  int32_t at = a.text(way.from, "\"");
  for (int64_t i = 0;; ++i) {
    if (i >= least && (most < 0 || i <= most)) a.byte(at, '"', '"', way.to);
    if (i == most) return Ok{};
    if (most < 0 && i >= least) {
      a.call(at, rules_.any_char(), at);
      return Ok{};
    }
    const int32_t next = a.add_state();
    a.call(at, rules_.any_char(), next);
    at = next;
    if (a.full()) return too_large();
  }
}

Status SchemaCompiler::add_number(Way way, const SchemaPart& part, bool whole) {
  const Bounds b = HONE_TRY(bounds_of(part, whole));
  if (!whole && !b.least && !b.most)
    automaton_->call(way.from, rules_.any_number(), way.to);
  else
    add_number_range(*automaton_, way.from, way.to, b.least, b.most, whole);
  return Ok{};
}

}  // namespace hone
