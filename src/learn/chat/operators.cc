// + - * / // % ** and in, with Python's rules.
#include <algorithm>
#include <cmath>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

Result<Value> whole_result(bool overflows, int64_t v) {
  if (overflows) return wrong("a number is beyond 64 bits");
  return Value(v);
}

int64_t floor_divided(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

Result<Value> power(int64_t base, int64_t exponent) {
  int64_t made = 1;
  bool over = false;
  for (; exponent > 0 && !over; exponent >>= 1) {
    if (exponent & 1) over = __builtin_mul_overflow(made, base, &made);
    if (exponent > 1) over = over || __builtin_mul_overflow(base, base, &base);
  }
  return whole_result(over, made);
}

Result<Value> whole_math(const std::string& op, int64_t a, int64_t b) {
  int64_t v = 0;
  if (op == "+" || op == "-" || op == "*") {
    const bool over = op == "+"   ? __builtin_add_overflow(a, b, &v)
                      : op == "-" ? __builtin_sub_overflow(a, b, &v)
                                  : __builtin_mul_overflow(a, b, &v);
    return whole_result(over, v);
  }
  if (op == "**") {
    if (b < 0 && a == 0) return wrong("division by zero");
    if (b < 0) return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
    return power(a, b);
  }
  if (b == 0) return wrong("division by zero");
  if (op == "/") return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {
    if (op == "%") return Value(int64_t{0});
    const bool over = __builtin_sub_overflow(int64_t{0}, a, &v);
    return whole_result(over, v);
  }
  if (op == "//") return Value(floor_divided(a, b));
  return Value(a - floor_divided(a, b) * b);
}

Result<Value> real_math(const std::string& op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return Value(std::pow(a, b));
  if (b == 0) return wrong("division by zero");
  if (op == "/") return Value(a / b);
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  if (op == "%") return Value(rest);
  return Value(std::floor((a - rest) / b + 0.5));
}

Result<Value> repeated(Renderer& r, const Value& v, int64_t count) {
  count = std::max<int64_t>(count, 0);
  if (v.is(Kind::text)) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<int64_t>(v.text().size()), count, &bytes))
      bytes = INT64_MAX;
    HONE_TRY(r.room_for(bytes));
    std::string all;
    for (int64_t i = 0; i < count && !v.text().empty(); ++i) all += v.text();
    return Value(std::move(all));
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(v.items().size()) * 40, count, &bytes))
    bytes = INT64_MAX;
  HONE_TRY(r.room_for(bytes));
  Values items;
  for (int64_t i = 0; i < count && !v.items().empty(); ++i)
    items.insert(items.end(), v.items().begin(), v.items().end());
  return Value::sequence(v.kind(), std::move(items));
}

bool repeats(const Value& v) { return v.is(Kind::text) || v.is(Kind::list) || v.is(Kind::tuple); }

}  // namespace

Result<Value> binary(Renderer& r, const std::string& op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b})
    if (v->is(Kind::undefined) && !(op == "%" && a.is(Kind::text))) return wrong(why_undefined(*v));
  if (a.is_number() && b.is_number()) {
    if (a.is_whole() && b.is_whole()) return whole_math(op, a.integer(), b.integer());
    return real_math(op, a.real(), b.real());
  }
  if (op == "+" && a.is(Kind::text) && b.is(Kind::text)) {
    HONE_TRY(r.room_for(static_cast<int64_t>(a.text().size() + b.text().size())));
    return Value(a.text() + b.text());
  }
  if (op == "+" && a.kind() == b.kind() && (a.is(Kind::list) || a.is(Kind::tuple))) {
    HONE_TRY(r.room_for(static_cast<int64_t>(a.items().size() + b.items().size()) * 40));
    Values all = a.items();
    all.insert(all.end(), b.items().begin(), b.items().end());
    return Value::sequence(a.kind(), std::move(all));
  }
  if (op == "*" && repeats(a) && b.is_whole()) return repeated(r, a, b.integer());
  if (op == "*" && repeats(b) && a.is_whole()) return repeated(r, b, a.integer());
  if (op == "%" && a.is(Kind::text)) return Value(HONE_TRY(format_percent(r, a.text(), b)));
  return wrong(
      fmt::format("'{}' has no meaning for a {} and a {}", op, type_name(a), type_name(b)));
}

Result<bool> contains(Renderer& r, const Value& in, const Value& v) {
  HONE_TRY(r.spend(0, in.is(Kind::dict) ? 0 : in.weight() / 16));
  switch (in.kind()) {
    case Kind::text:
      if (!v.is(Kind::text)) return wrong(fmt::format("a {} cannot be in a text", type_name(v)));
      return in.text().find(v.text()) != std::string::npos;
    case Kind::dict:
      if (!hashable(v)) return wrong(fmt::format("a {} cannot be a key", type_name(v)));
      return in.find(v) != nullptr;
    case Kind::undefined:
      return false;
    default: {
      const Values items = HONE_TRY(r.items_of(in));
      return std::any_of(items.begin(), items.end(), [&](const Value& i) { return equal(i, v); });
    }
  }
}

}  // namespace hone::chat
