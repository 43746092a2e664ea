#include "operate/pipeline/references.h"

#include <cstdlib>
#include <optional>

#include "base/core/text.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

constexpr const char* kForms =
    "write ${out}, ${steps.NAME}, ${steps.NAME.MEMBER}, ${inputs.NAME}, ${run} or ${cache}";

Result<StepReference> parse_reference(std::string_view inside) {
  const auto wrong = [&] {
    return Error(err::kPipelineFile, fmt::format("'${{{}}}' refers to nothing", inside))
        .todo(kForms);
  };
  if (inside == "out") return StepReference{.kind = StepReference::kOut};
  if (inside == "cache") return StepReference{.kind = StepReference::kCache};
  if (inside == "run") return StepReference{.kind = StepReference::kRun};
  const size_t dot = inside.find('.');
  if (dot == std::string_view::npos || dot + 1 == inside.size()) return wrong();
  const std::string_view first = inside.substr(0, dot);
  std::string name(inside.substr(dot + 1));
  if (first == "inputs") return StepReference{.kind = StepReference::kInput, .name = name};
  if (first != "steps") return wrong();
  StepReference r{.kind = StepReference::kFolder, .name = name};
  if (const size_t end = name.find('.'); end != std::string::npos) {
    r = {.kind = StepReference::kResult,
         .name = name.substr(0, end),
         .member = name.substr(end + 1)};
    if (r.member.empty()) return wrong();
  }
  return r.name.empty() ? Result<StepReference>(wrong()) : Result<StepReference>(r);
}

std::optional<double> number_of(const std::string& text) {
  if (text.empty()) return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string StepReference::text() const {
  switch (kind) {
    case kOut:
      return "${out}";
    case kRun:
      return "${run}";
    case kCache:
      return "${cache}";
    case kInput:
      return "${inputs." + name + "}";
    case kFolder:
      return "${steps." + name + "}";
    case kResult:
      break;
  }
  return "${steps." + name + "." + member + "}";
}

Result<std::string> expand_references(
    std::string_view text,
    const std::function<Result<std::string>(const StepReference&)>& meaning) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 3) == "$${") {
      out += "${";
      at += 3;
    } else if (text.substr(at, 2) == "${") {
      const size_t end = text.find('}', at);
      if (end == std::string_view::npos)
        return Error(err::kPipelineFile, fmt::format("'{}' lacks a '}}'", text)).todo(kForms);
      out += HONE_TRY(meaning(HONE_TRY(parse_reference(text.substr(at + 2, end - at - 2)))));
      at = end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

Result<std::vector<StepReference>> references_of(std::string_view text) {
  std::vector<StepReference> found;
  HONE_TRY(expand_references(text, [&](const StepReference& r) -> Result<std::string> {
    found.push_back(r);
    return std::string();
  }));
  return found;
}

Result<StepCondition> parse_condition(std::string_view text) {
  const auto wrong = [&] {
    return Error(err::kPipelineFile, fmt::format("'{}' is not a condition", text))
        .todo("write ${steps.NAME.MEMBER} == VALUE, or with != < <= > >=");
  };
  const std::string_view whole = trim(text);
  const size_t end = whole.find('}');
  if (!whole.starts_with("${") || end == std::string_view::npos) return wrong();
  StepCondition c;
  c.left = HONE_TRY(parse_reference(whole.substr(2, end - 2)));
  if (c.left.kind != StepReference::kResult) return wrong();
  const std::string_view rest = trim(whole.substr(end + 1));
  for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
    if (c.op.empty() && rest.starts_with(op)) c.op = op;
  if (c.op.empty()) return wrong();
  std::string_view right = trim(rest.substr(c.op.size()));
  if (right.size() >= 2 && (right[0] == '"' || right[0] == '\'') && right.back() == right[0])
    right = right.substr(1, right.size() - 2);
  c.right = std::string(right);
  if (c.right.empty() || c.right.find_first_of("'\"\\\n{}") != std::string::npos) return wrong();
  if (c.op.find_first_of("<>") != std::string::npos && !number_of(c.right)) return wrong();
  return c;
}

Result<bool> condition_holds(const StepCondition& c, const std::string& left) {
  const auto a = number_of(left), b = number_of(c.right);
  if (c.op == "==") return a && b ? *a == *b : left == c.right;
  if (c.op == "!=") return a && b ? *a != *b : left != c.right;
  if (!a || !b)
    return Error(err::kPipelineFile,
                 fmt::format("{} is '{}', which is not a number", c.left.text(), left))
        .todo("compare texts with == or != only");
  return c.op == "<" ? *a < *b : c.op == "<=" ? *a <= *b : c.op == ">" ? *a > *b : *a >= *b;
}

}  // namespace hone
