// Parses and replaces the references in the texts of a pipeline's step, such as its command:
//   ${out}                    the step's own folder for its files
//   ${steps.train}            the folder of the step train
//   ${steps.register.version} a member of the JSON object that the step register printed
//   ${inputs.rows}            the path or URL of one of the step's inputs
//   ${run}                    the name of the run
//   ${cache}                  a folder of this machine that all runs share; its files may be deleted at any time
//   $${                       the two characters ${
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct StepReference {
  enum Kind { kOut, kFolder, kResult, kInput, kRun, kCache } kind = kOut;
  std::string name = {};     // name of the step or input; "" for the other kinds
  std::string member = {};   // kResult: the member; "a.b": the member b of the object a
  std::string text() const;  // the reference as it is written: "${steps.train}"
};

// The references in a text, in order. Error H3161: a reference is malformed.
Result<std::vector<StepReference>> references_of(std::string_view text);
// Replaces each reference by `meaning(reference)`, and "$${" by "${". Errors: H3161 a reference is malformed; those of
// `meaning`.
Result<std::string> expand_references(
    std::string_view text, const std::function<Result<std::string>(const StepReference&)>& meaning);

// A condition "REFERENCE OP VALUE". OP is one of == != < <= > >=. Two numbers are compared as numbers. Other values are
// compared as texts; they allow only == and !=.
struct StepCondition {
  StepReference left;  // a kResult
  std::string op, right;
};
// Error H3161: the text is not a condition.
Result<StepCondition> parse_condition(std::string_view text);
// Whether the condition holds if its reference has the value `left`. Error H3161: OP needs numbers, and `left` is not a
// number.
Result<bool> condition_holds(const StepCondition& condition, const std::string& left);

}  // namespace hone
