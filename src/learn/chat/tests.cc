// `is`: tests. Reference: https://jinja.palletsprojects.com/en/stable/templates/#builtin-tests
#include <algorithm>

#include "learn/chat/python_text.h"
#include "learn/chat/renderer.h"

namespace hone::chat {
namespace {

// By the kind alone; nothing: another test.
std::optional<bool> kind_test(std::string_view name, const Value& v) {
  const Kind k = v.kind();
  if (name == "defined") return k != Kind::undefined;
  if (name == "undefined") return k == Kind::undefined;
  if (name == "none") return k == Kind::none;
  if (name == "boolean") return k == Kind::boolean;
  if (name == "true") return k == Kind::boolean && v.integer() == 1;
  if (name == "false") return k == Kind::boolean && v.integer() == 0;
  if (name == "integer") return k == Kind::integer;
  if (name == "float") return k == Kind::real;
  if (name == "number") return v.is_number();
  if (name == "string") return k == Kind::text;
  if (name == "mapping") return k == Kind::dict;
  if (name == "iterable")
    return v.is_sequence() || k == Kind::text || k == Kind::dict || k == Kind::undefined ||
           k == Kind::loop;
  if (name == "sequence")
    return k == Kind::text || k == Kind::list || k == Kind::tuple || k == Kind::range ||
           k == Kind::dict || k == Kind::undefined;
  if (name == "callable")
    return k == Kind::macro || k == Kind::function || k == Kind::method || k == Kind::loop ||
           k == Kind::undefined;
  if (name == "lower") return is_lower(str(v));
  if (name == "upper") return is_upper(str(v));
  return {};
}

constexpr std::pair<std::string_view, std::string_view> kOrders[] = {
    {"==", "eq"}, {"equalto", "eq"}, {"eq", "eq"},       {"!=", "ne"},          {"ne", "ne"},
    {"<", "lt"},  {"lt", "lt"},      {"lessthan", "lt"}, {"<=", "le"},          {"le", "le"},
    {">", "gt"},  {"gt", "gt"},      {">=", "ge"},       {"greaterthan", "gt"}, {"ge", "ge"}};
constexpr std::string_view kOthers[] = {"odd", "even",   "divisibleby", "sameas",
                                        "in",  "filter", "test"};
const std::vector<std::string> kNames = {
    "defined", "undefined", "none",        "boolean",  "true",     "false",    "integer", "float",
    "number",  "string",    "mapping",     "iterable", "sequence", "callable", "lower",   "upper",
    "odd",     "even",      "divisibleby", "sameas",   "in",       "equalto"};

}  // namespace

bool is_test(std::string_view name) {
  return kind_test(name, Value()).has_value() ||
         std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers) ||
         std::any_of(std::begin(kOrders), std::end(kOrders),
                     [&](const auto& o) { return o.first == name; });
}

Result<bool> Renderer::test(const std::string& name, const Value& v, const CallArguments& a) {
  if (const auto holds = kind_test(name, v)) {
    HONE_TRY(bind(name, a, {}));
    return *holds;
  }
  for (const auto& [own, meant] : kOrders) {
    if (own != name) continue;
    const auto b = HONE_TRY(bind(name, a, {"other"}, 1));
    HONE_TRY(spend(0, std::min(v.weight(), b[0]->weight()) / 16));
    if (meant == "eq" || meant == "ne") return equal(v, *b[0]) == (meant == "eq");
    const int c = HONE_TRY(order(v, *b[0]));
    return meant == "lt" ? c < 0 : meant == "le" ? c <= 0 : meant == "gt" ? c > 0 : c >= 0;
  }
  if (name == "in") {
    const auto b = HONE_TRY(bind(name, a, {"seq"}, 1));
    return contains(*this, *b[0], v);
  }
  if (name == "sameas") {
    const auto b = HONE_TRY(bind(name, a, {"other"}, 1));
    return same_object(v, *b[0]);
  }
  if (name == "filter" || name == "test") {
    HONE_TRY(bind(name, a, {}));
    return name == "filter" ? find_filter(str(v)) != nullptr : is_test(str(v));
  }
  if (name == "odd" || name == "even" || name == "divisibleby") {
    const bool by = name == "divisibleby";
    const auto b = HONE_TRY(bind(name, a, {"num"}, by ? 1 : 0));
    const Value rest = HONE_TRY(binary(*this, "%", v, by ? *b[0] : Value(int64_t{2})));
    return equal(rest, Value(int64_t{name == "odd" ? 1 : 0}));
  }
  const std::string near = nearest_name(name, kNames);
  return wrong(fmt::format("there is no test '{}'", name))
      .todo(near.empty() ? "write the template without it"
                         : fmt::format("did you mean '{}'?", near));
}

}  // namespace hone::chat
